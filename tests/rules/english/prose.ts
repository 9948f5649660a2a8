/** What people read: documents, comments, and the texts in string literals and JSX. Code, and names in backquotes, are not prose. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { root } from '../../harness/processes.ts'
import { nodesOf, type SyntaxNode } from '../sources.ts'

interface Sentence {
  /** Line in the file, from 1. */
  readonly line: number
  /** On one line, without backquoted names. */
  readonly text: string
}

export interface Prose {
  /** Path below the root of the project. */
  readonly path: string
  readonly sentences: readonly Sentence[]
}

/** Texts of other projects, and the list of phrases itself. */
const isForeign = /^tests\/(?:data\/|rules\/english\/|rules\/plain-english\.test\.ts)/

const plain = (text: string): string => text.replace(/`[^`]*`/g, '`').replace(/[ \t\n]+/g, ' ')

/** Paragraphs, list items and cells of a Markdown document, without its blocks of code. */
function readMarkdown(text: string): Sentence[] {
  const sentences: Sentence[] = []
  let isCode = false
  let begin = true
  for (const [index, line] of text.split('\n').entries()) {
    const isFence = line.trimStart().startsWith('```')
    if (isFence) isCode = !isCode
    const isText = !isFence && !isCode && line.trim() !== ''
    const previous = sentences.at(-1)
    if (isText && !begin && previous && !/^\s*([-#>|]|\d+\.)/.test(line))
      sentences[sentences.length - 1] = { ...previous, text: `${previous.text} ${line.trim()}` }
    else if (isText) sentences.push({ line: index + 1, text: line })
    begin = !isText
  }
  return sentences.map(({ line, text: own }) => ({ line, text: plain(own.replace(/\]\([^)]*\)/g, ']')) }))
}

/** The text of a literal that holds more than one word; others are names. */
function literalOf({ type, value, quasis }: SyntaxNode): string {
  const text =
    type === 'TemplateLiteral'
      ? (quasis as { value: { cooked?: string } }[]).map((part) => part.value.cooked ?? '').join('…')
      : (type === 'Literal' || type === 'JSXText') && typeof value === 'string'
        ? value
        : ''
  return type === 'JSXText' || text.trim().includes(' ') ? text : ''
}

/** Comments, texts and JSX of a TypeScript source. */
function readSource(path: string, source: string): Sentence[] {
  const { program, comments } = parseSync(path, source)
  const lineOf = (start: number) => source.slice(0, start).split('\n').length
  const found = comments.map(({ value, start }) => ({
    start,
    text: value.replace(/^[ \t]*\*+/gm, ' '),
  }))
  for (const { node } of nodesOf(program as unknown as SyntaxNode)) {
    const text = literalOf(node)
    if (text !== '') found.push({ start: node.start, text })
  }
  return found.map(({ start, text }) => ({ line: lineOf(start), text: plain(text) }))
}

export function readProse(path: string, text: string): Prose {
  return { path, sentences: path.endsWith('.md') ? readMarkdown(text) : readSource(path, text) }
}

/** The prose of every document and TypeScript source that git tracks or does not ignore, but for texts of other projects. */
export function readAllProse(): Prose[] {
  return execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.md', '*.ts', '*.tsx'],
    { cwd: root, encoding: 'utf8' },
  )
    .trim()
    .split('\n')
    .filter((path) => !isForeign.test(path))
    .flatMap((path) => {
      try {
        return [readProse(path, readFileSync(join(root, path), 'utf8'))]
      } catch (error) {
        // Deleted, and git still lists it.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
        throw error
      }
    })
}
