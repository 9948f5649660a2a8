/** Finds in tests what a slow machine can break: a wait for a time instead of a state, and a short time limit. */
import { stepLimitMs, testLimitMs } from '../harness/limits.ts'
import { isFunction, isNode, nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

const loops = new Set([
  'WhileStatement',
  'DoWhileStatement',
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
])
/** Functions of a test's time limit: it is their last argument, or the `timeout` of their options. */
const tests = new Set(['it', 'test', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach'])

const polls = new Set(['expect.poll', 'vi.waitFor', 'vi.waitUntil'])

/**
 * A pause outside of a loop. In a loop, it is the interval between two checks of a state.
 *
 * @returns `path:line`
 */
export function findFixedWaits(source: Source): string[] {
  const nodes = [...nodesOf(source.program)]
  const pauses = new Set(nodes.flatMap(({ node }) => importedPauses(node)))
  return nodes
    .filter(({ node, ancestors }) => isPause(node, pauses) && !isInLoop(ancestors))
    .map(({ node }) => placeOf(source, node))
}

/**
 * Time limits of polls and tests that are shorter than the default, and polls of `vi`, which have a default of one second.
 *
 * @returns `path:line milliseconds`
 */
export function findShortLimits(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    if (node.type !== 'CallExpression') return []
    const [name, min] = limitOf(calleeOf(node))
    if (name === '') return []
    const args = node.arguments as SyntaxNode[]
    const timeouts = args.flatMap(timeoutsOf)
    if (timeouts.length === 0 && name === 'vi') return [`${placeOf(source, node)} 1000`]
    const limits = [...timeouts, ...(tests.has(name) ? args.slice(-1) : [])].map(millisecondsOf)
    return limits
      .filter((each) => each !== undefined && each < min)
      .map((each) => `${placeOf(source, node)} ${each}`)
  })
}

/** Names under which a file imports the timer that is a promise. */
function importedPauses(node: SyntaxNode): string[] {
  if (node.type !== 'ImportDeclaration') return []
  if ((node.source as SyntaxNode).value !== 'node:timers/promises') return []
  return (node.specifiers as SyntaxNode[])
    .filter(({ imported }) => isNode(imported) && imported.name === 'setTimeout')
    .map(({ local }) => String((local as SyntaxNode).name))
}

/** `sleep(…)`, or `new Promise((resolve) => setTimeout(resolve, …))`. */
function isPause(node: SyntaxNode, pauses: ReadonlySet<string>): boolean {
  if (node.type === 'CallExpression') return pauses.has(calleeOf(node))
  if (node.type !== 'NewExpression' || calleeOf(node) !== 'Promise') return false
  const [executor] = node.arguments as SyntaxNode[]
  if (!executor || !isFunction(executor)) return false
  const [resolve] = executor.params as SyntaxNode[]
  const body = executor.body as SyntaxNode
  if (body.type !== 'CallExpression' || calleeOf(body) !== 'setTimeout') return false
  return (body.arguments as SyntaxNode[])[0]?.name === resolve?.name
}

function isInLoop(ancestors: readonly SyntaxNode[]): boolean {
  const own = ancestors.slice(ancestors.findLastIndex(isFunction) + 1)
  return own.some(({ type }) => loops.has(type))
}

/** Of `a.b(…)`, `a.b`; of `it.each(…)(…)`, `it.each`. */
function calleeOf({ callee }: SyntaxNode): string {
  if (!isNode(callee)) return ''
  if (callee.type === 'Identifier') return String(callee.name)
  if (callee.type === 'CallExpression') return calleeOf(callee)
  if (callee.type !== 'MemberExpression' || !isNode(callee.object) || !isNode(callee.property)) return ''
  const object = callee.object.type === 'Identifier' ? String(callee.object.name) : ''
  return `${object}.${String(callee.property.name)}`
}

/** The function that a limit is for, and the minimum in milliseconds; no name for a call that has no limit. */
function limitOf(callee: string): readonly [name: string, minMs: number] {
  const [name = ''] = callee.split('.')
  if (tests.has(name)) return [name, testLimitMs]
  return polls.has(callee) ? [name, stepLimitMs] : ['', 0]
}

const timeoutsOf = (argument: SyntaxNode): SyntaxNode[] =>
  argument.type === 'ObjectExpression'
    ? (argument.properties as SyntaxNode[])
        .filter(({ key }) => isNode(key) && key.name === 'timeout')
        .map(({ value }) => value as SyntaxNode)
    : []

function millisecondsOf(node: SyntaxNode): number | undefined {
  return node.type === 'Literal' && typeof node.value === 'number' ? node.value : undefined
}
