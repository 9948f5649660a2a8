/**
 * Finds variables, members and maps that hold a promise for later callers. One that rejects would be given to all of them:
 * `service-kit/share` drops it, and so is the one way to share a promise.
 */
import { nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

/** @returns `path:line name` */
export function findCachedPromises(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node, ancestors }) => {
    if (!isHolder(node, ancestors)) return []
    return [`${placeOf(source, node)} ${source.text.slice(node.start, node.end).split(/[ :=(;\n]/, 1)[0]}`]
  })
}

function isHolder(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  if (node.type === 'VariableDeclarator') {
    const isVariable = ancestors.at(-1)?.kind === 'let'
    const annotation = typeOf(node.id as SyntaxNode)
    return (isVariable && isOptionalPromise(annotation)) || isPromiseMap(node.init as SyntaxNode | null)
  }
  if (node.type === 'PropertyDefinition')
    return isOptionalPromise(typeOf(node)) || isPromiseMap(node.value as SyntaxNode | null)
  // Without a declared type there is nothing else to go by.
  return node.type === 'AssignmentExpression' && node.operator === '??=' && isStartedWork(node.right)
}

const typeOf = ({ typeAnnotation }: SyntaxNode): SyntaxNode | undefined =>
  (typeAnnotation as { typeAnnotation?: SyntaxNode } | null | undefined)?.typeAnnotation

const isPromise = (type: SyntaxNode): boolean =>
  type.type === 'TSTypeReference' && (type.typeName as { name?: string }).name === 'Promise'

const isOptionalPromise = (type: SyntaxNode | undefined): boolean =>
  type?.type === 'TSUnionType' && (type.types as SyntaxNode[]).some(isPromise)

/** `new Map<string, Promise<…>>()` */
function isPromiseMap(made: SyntaxNode | null | undefined): boolean {
  if (made?.type !== 'NewExpression' || (made.callee as { name?: string }).name !== 'Map') return false
  const [, value] = (made.typeArguments as { params: SyntaxNode[] } | null)?.params ?? []
  return value !== undefined && isPromise(value)
}

/** `openThing(…).then(…)` and similar calls. */
function isStartedWork(node: unknown): boolean {
  const { type, callee } = node as { type: string; callee?: { property?: { name?: string } } }
  return type === 'CallExpression' && ['then', 'catch', 'finally'].includes(callee?.property?.name ?? '')
}
