/** Finds durations with a name without a unit: members, parameters and constants of our own that are numbers. */
import { isNode, nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

/** Last words of names of durations. A name that ends with its unit (`graceSeconds`, `pauseMs`) ends with another word. */
const durations = new Set([
  ...['age', 'delay', 'duration', 'every', 'fetch', 'grace', 'heartbeat', 'interval', 'life', 'lifetime'],
  ...['pause', 'period', 'retention', 'skew', 'timeout', 'wait', 'window', 'within', 'again'],
])

/** @returns `path:line name` */
export function findUnitless(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node, ancestors }) => {
    const name = numberName(node, ancestors)
    return name !== undefined && durations.has(lastWord(name)) ? [`${placeOf(source, node)} ${name}`] : []
  })
}

const lastWord = (name: string): string => (/[A-Z]?[a-z]+$/.exec(name)?.[0] ?? '').toLowerCase()

/** The name of what is declared here as a number. Arguments of calls are not: their names are the callee's. */
function numberName(node: SyntaxNode, ancestors: readonly SyntaxNode[]): string | undefined {
  switch (node.type) {
    case 'TSPropertySignature':
    case 'PropertyDefinition':
      return isNumberType(node) || isNumber(node.value) ? nameOf(node.key) : undefined
    case 'Identifier':
      return isNumberType(node) ? nameOf(node) : undefined
    case 'VariableDeclarator':
      return isNumber(node.init) ? nameOf(node.id) : undefined
    case 'AssignmentPattern':
      return isNumber(node.right) ? nameOf(node.left) : undefined
    case 'Property':
      return isNumber(node.value) && isTable(ancestors) ? nameOf(node.key) : undefined
    default:
      return undefined
  }
}

/** A table of constants: an object that is the value of a variable. */
function isTable(ancestors: readonly SyntaxNode[]): boolean {
  const [object, holder] = ancestors.filter(({ type }) => type !== 'TSAsExpression').toReversed()
  return object?.type === 'ObjectExpression' && holder?.type === 'VariableDeclarator'
}

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && typeof node.name === 'string' ? node.name : undefined

function isNumberType({ typeAnnotation }: SyntaxNode): boolean {
  const type = isNode(typeAnnotation) ? typeAnnotation.typeAnnotation : undefined
  return isNode(type) && type.type === 'TSNumberKeyword'
}

/** A number, or a calculation with numbers. */
function isNumber(node: unknown): boolean {
  if (!isNode(node)) return false
  if (node.type === 'BinaryExpression') return isNumber(node.left) && isNumber(node.right)
  return node.type === 'Literal' && typeof node.value === 'number'
}
