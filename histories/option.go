package histories

// Option is a value that a history may leave out. The zero Option is absent;
// that is how "no token" is told from the token 0.
type Option[T comparable] struct {
	value T
	known bool
}

// Some is an Option that is there.
func Some[T comparable](v T) Option[T] { return Option[T]{value: v, known: true} }

// Get returns the value and whether it is there; the zero value if not.
func (o Option[T]) Get() (T, bool) { return o.value, o.known }

// Known tells whether the value is there.
func (o Option[T]) Known() bool { return o.known }

// Or returns the value, or def if it is absent.
func (o Option[T]) Or(def T) T {
	if o.known {
		return o.value
	}
	return def
}
