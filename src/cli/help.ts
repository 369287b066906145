/** What `--help` says. */
import { SESSION_FORMAT_VERSION } from '../core/events.ts'

export const help = `Usage: palimpsest COMMAND [OPTIONS] FILE

Reads the log of a session, of any format version up to ${SESSION_FORMAT_VERSION}, plain, gzip or zstd.
FILE is a path, or - for standard input. It is never changed.

Commands:
  verify   says whether the log opens, and what that takes
  migrate  writes it as canonical lines of version ${SESSION_FORMAT_VERSION}
  show     the conversation as Markdown
  stats    the log in numbers

Options:
  --recover      open more than the format takes, by repairs that are listed
  --json         verify, show, stats: print JSON
  --messages     show: what the model reads
  --events       show: one line for each event
  --output FILE  migrate: write to a file, as a whole or not at all (-o)
  --force        migrate: overwrite that file
  --no-progress  no progress on a terminal
  --help, --version

Exit codes:
  0  accepted
  1  accepted with repairs
  2  refused
  3  unusable arguments or file
`
