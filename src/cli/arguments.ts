/** Reads the arguments of the command line. */
import { parseArgs } from 'node:util'
import type { CommandName, Options } from './command.ts'
import { CommandError } from './errors.ts'

export type Request =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly command: CommandName; readonly file: string; readonly options: Options }

/** The options that not every command has. */
const special: Readonly<Record<CommandName, readonly string[]>> = {
  verify: ['json'],
  migrate: ['output', 'force'],
  show: ['json', 'messages', 'events'],
  stats: ['json'],
}
const common = ['recover', 'no-progress', 'help', 'version']

const isCommand = (name: string): name is CommandName => Object.hasOwn(special, name)

/** @throws {CommandError} `usage`. */
export function readArguments(argv: readonly string[]): Request {
  const { values, positionals } = parse(argv)
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const [command, ...files] = positionals
  if (command === undefined) throw usage('Expected a command')
  if (!isCommand(command)) throw usage(`There is no command ${command}`)
  const strange = Object.keys(values).find(name => !common.includes(name) && !special[command].includes(name))
  if (strange !== undefined) throw usage(`${command} has no option --${strange}`)
  if (values.messages === true && values.events === true) throw usage('Expected --messages or --events, not both')
  const [file] = files
  if (file === undefined) throw usage('Expected a file')
  if (files.length > 1) throw usage(`Expected one file; found ${files.length}`)
  const { json = false, recover = false, messages = false, events = false, output = '-', force = false } = values
  const progress = values['no-progress'] !== true
  if (output === '') throw usage('Expected a file to write to')
  if (force && output === '-') throw usage('--force is for --output FILE')
  const target = output === '-' ? null : output
  const options = { json, recover, progress, messages, events, output: target, force }
  return { kind: 'run', command, file, options }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        recover: { type: 'boolean' },
        'no-progress': { type: 'boolean' },
        messages: { type: 'boolean' },
        events: { type: 'boolean' },
        output: { type: 'string', short: 'o' },
        force: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
  } catch (error) {
    // Of what it says only the beginning is for our users.
    throw usage((error as Error).message.split('. ')[0] ?? '')
  }
}

const usage = (what: string): CommandError => new CommandError('usage', `${what} (--help says how to use it)`)
