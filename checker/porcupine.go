package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// ErrNoResource says that a history has no operation on a resource to draw.
var ErrNoResource = errors.New("no operation on a resource")

// WritePorcupine writes Porcupine's own page (HTML) for the resource of the first
// witness, around its violation; without a witness, for the busiest resource. It
// shows a window of some two hundred operations. The error is [ErrNoResource] if
// there is nothing to show.
func WritePorcupine(w io.Writer, h *histories.History, r Result) error {
	b, err := model.Resolve(h)
	if err != nil {
		return fmt.Errorf("write porcupine page: %w", err)
	}
	resource, question, around := subject(b, &r)
	if resource == nil {
		return fmt.Errorf("write porcupine page: %w", ErrNoResource)
	}
	if err := resource.WritePage(context.Background(), w, question, around, notes(b, &r, resource)); err != nil {
		return fmt.Errorf("write porcupine page: %w", err)
	}
	return nil
}

// subject is what the page is about.
func subject(b *model.Book, r *Result) (resource *model.Resource, q model.Question, around int) {
	q, around = model.Question{Values: true, Grants: true, Bases: true}, -1
	name := ""
	for i := range r.Properties {
		p := &r.Properties[i]
		if len(p.Witnesses) == 0 || p.Property != StaleWrite && p.Property != LostUpdate {
			continue
		}
		name, around = p.Witnesses[0].Resource, p.Witnesses[0].Stale
		if q = (model.Question{Values: true, Bases: true}); p.Property == StaleWrite {
			q = model.Question{Grants: true}
			if lost := r.Property(LostUpdate); lost == nil || lost.Verdict == Valid {
				q.Values = true
			}
		}
		break
	}
	for _, candidate := range b.Resources() {
		switch {
		case len(candidate.Ops) == 0:
		case around >= 0 && candidate.Name == name:
			return candidate, q, around
		case around < 0 && (resource == nil || len(candidate.Ops) > len(resource.Ops)):
			resource = candidate
		}
	}
	return resource, q, around
}

// notes are the pauses and the grants on the resource's locks, for the margin of
// the page. Those on other locks would only fill it.
func notes(b *model.Book, r *Result, resource *model.Resource) []model.Note {
	locks := map[string]bool{}
	for _, i := range resource.Ops {
		locks[b.Lock(i)] = true
	}
	var list []model.Note
	for i := range r.Coverage.Trials {
		t := &r.Coverage.Trials[i]
		if !locks[t.Lock] {
			continue
		}
		list = append(list, model.Note{
			Row: "nemesis", From: t.StoppedNS, To: t.ContinuedNS, Text: t.Process + " stopped",
			Details: fmt.Sprintf("point %s, grant %s", cmp.Or(string(t.Point), "unknown"), cmp.Or(t.Grant, "none")),
		})
	}
	for _, g := range b.Grants {
		if !locks[g.Lock] {
			continue
		}
		text := "grant " + g.ID
		if token, known := g.Token.Get(); known {
			text += fmt.Sprintf(", token %d", token)
		}
		list = append(list, model.Note{Row: "lock " + g.Lock, From: g.Return, To: g.Return, Text: text, Details: "worker " + g.Worker})
	}
	return list
}
