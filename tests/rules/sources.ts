/** The sources of the project as syntax trees, for rules that a machine checks. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { root } from '../harness/processes.ts'

/** A node of the syntax tree (ESTree with the TypeScript extensions of Oxc). */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

export interface Source {
  /** Path below the root of the project. */
  readonly path: string
  readonly text: string
  readonly program: SyntaxNode
}

/** Every TypeScript source below the folders that is not a test. */
export const readSources = (...folders: readonly string[]): Source[] =>
  filesOf(...folders.flatMap((folder) => [`${folder}/*.ts`, `${folder}/*.tsx`]))
    .filter((path) => !/\.(test|d|config)\.tsx?$/.test(path))
    .map(readSource)

/** Every test, and what tests consist of. */
export const readTests = (): Source[] =>
  filesOf('*.test.ts', 'tests/*.ts', 'packages/service-kit/src/testing/*.ts').map(readSource)

/** Files that git tracks, and those that it does not ignore. */
const filesOf = (...patterns: readonly string[]): string[] =>
  execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', ...patterns],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
    .trim()
    .split('\n')

/** The sources that a process has read: the rules run in few processes, and none changes a source. */
const known = new Map<string, Source>()

function readSource(path: string): Source {
  const source = known.get(path) ?? parseSource(path, readFileSync(join(root, path), 'utf8'))
  known.set(path, source)
  return source
}

export function parseSource(path: string, text: string): Source {
  const lang = path.endsWith('x') ? 'tsx' : 'ts'
  return { path, text, program: parseAst(text, { lang }, path) as unknown as SyntaxNode }
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string'

const children = new WeakMap<SyntaxNode, readonly SyntaxNode[]>()

export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const known = children.get(node)
  if (known) return known
  const found = Object.values(node).flat().filter(isNode)
  children.set(node, found)
  return found
}

export const isFunction = ({ type }: SyntaxNode): boolean =>
  type === 'ArrowFunctionExpression' || type === 'FunctionExpression' || type === 'FunctionDeclaration'

interface Place {
  readonly node: SyntaxNode
  readonly ancestors: readonly SyntaxNode[]
}

/** Every node below one, parents first; `ancestors` lists the nodes around it, the outermost first. */
export function* nodesOf(root: SyntaxNode, around: readonly SyntaxNode[] = []): Generator<Place> {
  const waiting: Place[] = [{ node: root, ancestors: around }]
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    yield place
    const children = childrenOf(place.node)
    if (children.length === 0) continue
    const ancestors = [...place.ancestors, place.node]
    for (let index = children.length; index-- > 0; ) waiting.push({ node: children[index]!, ancestors })
  }
}

/** `path:line`, for a person to click on. */
export const placeOf = ({ path, text }: Source, { start }: SyntaxNode): string =>
  `${path}:${text.slice(0, start).split('\n').length}`
