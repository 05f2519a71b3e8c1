package report

// Files of a run directory and of the folder that each cell has in it.
const (
	FileConfig    = "campaign.yaml" // the plan, resolved
	FileSummary   = "summary.json"
	FileReport    = "report.html"
	FileManifest  = "manifest.json" // written last: tells a finished run from a broken one
	FileHistory   = "history.jsonl" // these four in a cell's folder
	FileResult    = "result.json"
	FileTimeline  = "timeline.html"
	FilePorcupine = "porcupine.html"
	LinkLatest    = "latest" // beside the run directories: the last one
)
