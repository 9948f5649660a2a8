/** Finds numbers that are raised in one place and lowered in another one, which an exception or a client that leaves may skip. */
import { childrenOf, isFunction, isNode, nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

interface Step {
  /** Name of what is counted: that of the variable or member. */
  readonly name: string
  readonly isUp: boolean
  readonly node: SyntaxNode
}

/**
 * A number that is raised and lowered by one: with `++` and `--`, `+= 1` and `-= 1`, or as an entry of a map with `set(key, n + 1)`.
 * A loop that counts within one function (`for (…; at++)`, `while (left-- > 0)`) is no count of work.
 *
 * @returns `path:line name`, of the first place
 */
export function findCounts(source: Source): string[] {
  const steps = [...nodesOf(source.program)].flatMap(({ node, ancestors }) => stepsOf(node, ancestors))
  const byName = Map.groupBy(steps, ({ name }) => name)
  return [...byName].flatMap(([name, own]) => {
    const isCount = own.some(({ isUp }) => isUp) && own.some(({ isUp }) => !isUp)
    return isCount ? [`${placeOf(source, own[0]!.node)} ${name}`] : []
  })
}

function stepsOf(node: SyntaxNode, ancestors: readonly SyntaxNode[]): Step[] {
  if (node.type === 'UpdateExpression') {
    const target = node.argument as SyntaxNode
    if (isOwnLocal(target, ancestors)) return []
    return [{ name: nameOf(target), isUp: node.operator === '++', node }]
  }
  if (node.type === 'AssignmentExpression' && (node.operator === '+=' || node.operator === '-=')) {
    const target = node.left as SyntaxNode
    if (!isOne(node.right) || isOwnLocal(target, ancestors)) return []
    return [{ name: nameOf(target), isUp: node.operator === '+=', node }]
  }
  return stepsOfMap(node, ancestors)
}

/** `counts.set(key, count + 1)`; and for its end `counts.get(key)! - 1`, in any statement. */
function stepsOfMap(node: SyntaxNode, ancestors: readonly SyntaxNode[]): Step[] {
  if (node.type !== 'BinaryExpression' || !isOne(node.right)) return []
  if (node.operator === '-') {
    const read = [...nodesOf(node.left as SyntaxNode)].find(({ node: each }) => isCallOf(each, 'get'))
    return read ? [{ name: nameOfMap(read.node), isUp: false, node }] : []
  }
  const call = ancestors.at(-1)
  if (node.operator !== '+' || !call || !isCallOf(call, 'set')) return []
  return [{ name: nameOfMap(call), isUp: true, node }]
}

const isOne = (node: unknown): boolean => isNode(node) && node.type === 'Literal' && node.value === 1

const isCallOf = (node: SyntaxNode, method: string): boolean =>
  node.type === 'CallExpression' &&
  isNode(node.callee) &&
  node.callee.type === 'MemberExpression' &&
  (node.callee.property as SyntaxNode).name === method

const nameOfMap = (call: SyntaxNode): string => nameOf((call.callee as SyntaxNode).object as SyntaxNode)

function nameOf(node: SyntaxNode): string {
  if (node.type === 'MemberExpression') return nameOf(node.property as SyntaxNode)
  if (node.type === 'TSNonNullExpression') return nameOf(node.expression as SyntaxNode)
  if (node.type === 'PrivateIdentifier') return `#${String(node.name)}`
  return String(node.name ?? node.type)
}

/** Whether a variable is declared in the innermost function around: it ends with its call. */
function isOwnLocal(target: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  if (target.type !== 'Identifier') return false
  const inner = ancestors.findLast(isFunction)
  return inner !== undefined && declares(inner, String(target.name))
}

function declares(node: SyntaxNode, name: string): boolean {
  return childrenOf(node).some((child) => {
    if (isFunction(child)) return false
    const isNamed = (each: unknown) => isNode(each) && each.name === name
    if (child.type === 'VariableDeclarator' && isNamed(child.id)) return true
    if (isNamed(child) && (node.params as SyntaxNode[] | undefined)?.includes(child)) return true
    return declares(child, name)
  })
}
