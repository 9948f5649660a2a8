/** Commands of `selvedge` that people are shown: in documents, hints, help and console. Checked by the parser of the command line. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConsoleProject } from '@selvedge/protocol/console'
import { commands } from '../../apps/cli/src/commands/index.ts'
import type { Terminal } from '../../apps/cli/src/output/terminal.ts'
import { runCli } from '../../apps/cli/src/program.ts'
import { type Platform, stepsOf } from '../../apps/console/src/views/projects/connect/commands.ts'
import { root } from './processes.ts'

export interface Shown {
  /** Path of the file, and line. */
  readonly where: string
  readonly text: string
  /** A line of a shell has all that the command needs; a command in a sentence may leave out arguments. */
  readonly isWhole: boolean
}

/** A command of the program, after its variables. */
const program = /^\s*(?:[A-Z_]+=\S* )*((?:sudo )?(?:npx )?selvedge(?:-admin)? .*)$/

/** Texts that begin with the name and are no commands: the line of a ready stack, first lines of files, and a name in a message. */
const noCommand = /^selvedge (?:is ready|backup VALUE|document VALUE|(?:help )?VALUE)/

/** Lines of the shells in a document, and commands in its sentences. */
function inDocument(path: string): Shown[] {
  const text = readFileSync(join(root, path), 'utf8')
  const joined = text.replaceAll(/\\\n\s*/g, '  ')
  let language: string | undefined
  return joined.split('\n').flatMap((line, at) => {
    const fence = /^\s*```(\w*)/.exec(line)
    if (fence) {
      language = language === undefined ? fence[1]! : undefined
      return []
    }
    const where = `${path}:${at + 1}`
    if (language === undefined) return inSentence(where, line)
    return /^(?:sh|bash|console)$/.test(language) ? inShell(where, line) : []
  })
}

/** Commands in a line of a shell: also in `$(…)`, and after `|` and `&&`. */
const inShell = (where: string, line: string): Shown[] =>
  line
    .replace(/(?:^|\s)#(?:\s.*)?$/, '')
    .split(/\$\(|\)|&&|\|\||\||;/)
    .flatMap((part) => {
      const [, text] = program.exec(part) ?? []
      return text === undefined ? [] : [{ where, text: text.trim(), isWhole: true }]
    })

/** Commands between quotes, and those after a colon, of a sentence. */
function inSentence(where: string, line: string): Shown[] {
  const quoted = [...line.matchAll(/["`“]((?:sudo |npx )?selvedge(?:-admin)? [^"`”]{1,200})["`”]/g)]
  const last = [...line.matchAll(/: ((?:sudo )?selvedge(?:-admin)? [a-z][^'"`.;,]{0,200})(?=['"`;,.]|$)/g)]
  return [...quoted, ...last]
    .map(([, text]) => ({ where, text: text!, isWhole: false }))
    .filter(({ text }) => !noCommand.test(text))
}

/** Commands in the texts of a program, without its comments. */
function inSource(path: string): Shown[] {
  const text = readFileSync(join(root, path), 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  return text
    .split('\n')
    .flatMap((line, at) => inSentence(`${path}:${at + 1}`, line.replaceAll(/\$\{[^}]*\}/g, 'VALUE')))
}

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/\.test\.tsx?$/.test(name) && !/node_modules|dist\//.test(name))
    .map((name) => join(folder, name))
}

const documents = [
  'README.md',
  ...['docs', 'apps/cli', 'examples', 'packages', 'packaging', 'deploy'].flatMap((each) =>
    filesIn(each, /\.md$/),
  ),
]
const sources = ['apps', 'packages', 'packaging'].flatMap((each) =>
  filesIn(each, /\/src\/.*\.tsx?$|systemd\/.*$/),
)

/** What the page that connects a device is filled in with. */
const project = {
  clientId: 'demo-4f2a',
  scopes: ['openid', 'edge:mcm', 'edge:clusters', 'edge:account:associate', 'offline_access'],
} as unknown as ConsoleProject
const services = {
  identityUrl: 'https://id.example.com',
  discoveryUrl: 'https://d.example.com',
  version: '1.0.0',
}

/** Every command that people are shown, by where they see it. */
export const shownIn = {
  documents: (): Shown[] => documents.flatMap(inDocument),
  /** Hints, messages and pages. */
  sources: (): Shown[] => sources.flatMap(inSource),
  help: (): Shown[] =>
    commands.flatMap(({ path, examples = [] }) =>
      examples.flatMap((line) => inShell(`help of ${path.join(' ')}`, line)),
    ),
  /** The page that connects a device. */
  page: (platform: Platform): Shown[] =>
    stepsOf(platform, services, project)
      .flatMap((step) => step.commands.replaceAll(/\\\n/g, '').split('\n'))
      .flatMap((line) =>
        inShell(platform, line.replace('podman exec -it selvedge /usr/lib/selvedge/bin/', '')),
      ),
}

/** Words of a shell: quotes are removed, and redirections are no words. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  const end = words.findIndex((word) => /^(?:\d?>|<)(?![\w-]+>)/.test(word))
  return words.slice(0, end === -1 ? undefined : end).map((word) => word.replaceAll(/["']/g, ''))
}

/** The commands do nothing: only their line is parsed. */
const parsed = commands.map(({ isFailure: _, ...each }) => ({ ...each, run: async () => undefined }))

/** @returns what the parser of the command line refuses; undefined for a command that would run */
export async function problemOf({ text, isWhole }: Shown): Promise<string | undefined> {
  const [, name = '', rest = ''] = /^(?:sudo )?(?:npx )?(selvedge(?:-admin)?) (.*)$/s.exec(text) ?? []
  const argv = [...(name === 'selvedge-admin' ? ['admin'] : []), ...wordsOf(rest)]
  if (!isWhole && argv.length === 1 && argv[0] === '…') return undefined
  let errors = ''
  const terminal = { out: () => undefined, note: (line: string) => (errors += line) } as unknown as Terminal
  const code = await runCli(withoutAddresses(argv), parsed, terminal)
  if (code === 0) return undefined
  // A group in a sentence, and an argument that the reader has to add.
  const isIncomplete = /^Usage: selvedge|is missing|argument missing/.test(errors) || / … ?$|…/.test(text)
  return !isWhole && isIncomplete ? undefined : errors
}

/** The folders and contexts of shown commands are not on this machine. */
const withoutAddresses = (argv: readonly string[]): string[] =>
  argv.filter(
    (word, at) => !/^--(?:state|context)$/.test(word) && !/^--(?:state|context)$/.test(argv[at - 1] ?? ''),
  )
