/** What names are bound to in a file: in which function they were declared, and with which value. */
import { nodesOf, type SyntaxNode } from '../sources.ts'

export type Ancestors = readonly SyntaxNode[]

export interface Binding {
  /** The function that declares the name, or the program. */
  readonly owner: SyntaxNode
  readonly kind: 'variable' | 'parameter' | 'import'
  /** Whether another value may take the place of the first. */
  readonly isLet?: boolean
  /** The value of the declaration; absent if the name is one part of it. */
  readonly init?: SyntaxNode | undefined
  /** The name of the declared type. */
  readonly type?: string | undefined
  /** Names of the functions and classes around the declaration. */
  readonly scope: readonly string[]
  readonly declaration: SyntaxNode
}

/** Methods that call back before they return: their callback belongs to the function that calls them. */
const immediate = new Set([
  ...['map', 'filter', 'forEach', 'flatMap', 'some', 'every', 'find', 'findIndex', 'findLast', 'reduce'],
  ...['sort', 'toSorted', 'replace', 'replaceAll', 'from'],
])

const isFunction = ({ type }: SyntaxNode): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'

export const childOf = (node: SyntaxNode, member: string): SyntaxNode | undefined =>
  (node[member] as SyntaxNode | null | undefined) ?? undefined

/** Without the wrappers that mean nothing at run time. */
export function plain(node: SyntaxNode): SyntaxNode {
  return /^(?:ParenthesizedExpression|TS(?:As|NonNull|Satisfies)Expression|ChainExpression)$/.test(node.type)
    ? plain(childOf(node, 'expression')!)
    : node
}

export function nameOf(node: SyntaxNode | undefined): string {
  if (node === undefined) return ''
  return node.type === 'PrivateIdentifier' ? `#${node.name}` : String(node.name ?? node.value ?? '')
}

/** The method of a call: `push` of `list.push(1)`. */
export function methodOf(call: SyntaxNode): string {
  const callee = plain(childOf(call, 'callee')!)
  if (callee.type === 'MemberExpression') return callee.computed ? '' : nameOf(childOf(callee, 'property'))
  return callee.type === 'Identifier' ? nameOf(callee) : ''
}

/** The name of a function or class: its own, or that of the variable or member that holds it. */
function titleOf(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  const own = childOf(node, 'id')
  if (own) return nameOf(own)
  if (parent?.type === 'VariableDeclarator') return nameOf(childOf(parent, 'id'))
  const isMember = /^(?:Property|MethodDefinition|PropertyDefinition)$/.test(parent?.type ?? '')
  return isMember ? nameOf(childOf(parent!, 'key')) : ''
}

/** Names of the functions and classes around a node, the outermost first. */
export const scopeOf = (around: Ancestors): string[] =>
  around
    .map((node, at) =>
      isFunction(node) || node.type.startsWith('Class') ? titleOf(node, around[at - 1]) : '',
    )
    .filter(Boolean)

/** The function that runs a node: the innermost one around it that is not called back at once. */
export function runnerOf(around: Ancestors): SyntaxNode {
  for (let at = around.length - 1; at > 0; at--) {
    const node = around[at]!
    const call = around[at - 1]!
    const isCalledAtOnce =
      call.type === 'CallExpression' && childOf(call, 'callee') !== node && immediate.has(methodOf(call))
    if (isFunction(node) && !isCalledAtOnce) return node
  }
  return around[0]!
}

/** Finds the binding of a name from the nodes around its use, the outermost first. */
export type FindBinding = (name: string, around: Ancestors) => Binding | undefined

export function readBindings(program: SyntaxNode): FindBinding {
  const byBlock = new Map<SyntaxNode, Map<string, Binding>>()
  const declare = (block: SyntaxNode, name: string, binding: Binding) =>
    byBlock.set(block, (byBlock.get(block) ?? new Map()).set(name, binding))
  for (const { node, ancestors } of nodesOf(program)) {
    if (node.type === 'VariableDeclarator') {
      const block = ancestors.findLast(({ type }) => /^(?:Block|Program|For|Switch|StaticBlock)/.test(type))!
      const owner = runnerOf(ancestors)
      for (const { name, type, isWhole } of namesIn(childOf(node, 'id')!)) {
        const init = isWhole ? childOf(node, 'init') : undefined
        const scope = scopeOf(ancestors)
        const isLet = ancestors.at(-1)!.kind === 'let'
        declare(block, name, { owner, kind: 'variable', isLet, init, type, scope, declaration: node })
      }
    }
    if (isFunction(node)) {
      const scope = scopeOf([...ancestors, node])
      for (const { name, type } of (node.params as SyntaxNode[]).flatMap((each) => namesIn(each)))
        declare(node, name, { owner: node, kind: 'parameter', type, scope, declaration: node })
    }
    if (/^Import\w*Specifier$/.test(node.type))
      declare(program, nameOf(childOf(node, 'local')), {
        owner: program,
        kind: 'import',
        scope: [],
        declaration: node,
      })
  }
  return (name, around) =>
    around
      .toReversed()
      .map((block) => byBlock.get(block)?.get(name))
      .find(Boolean)
}

interface DeclaredName {
  readonly name: string
  readonly type: string | undefined
  /** False for one part of a pattern. */
  readonly isWhole: boolean
}

function namesIn(pattern: SyntaxNode, isWhole = true): DeclaredName[] {
  const part = (member: string, whole: boolean) => namesIn(childOf(pattern, member)!, whole)
  switch (pattern.type) {
    case 'Identifier':
      return [{ name: nameOf(pattern), type: typeOf(pattern), isWhole }]
    case 'AssignmentPattern':
      return part('left', isWhole)
    case 'TSParameterProperty':
      return part('parameter', isWhole)
    case 'RestElement':
      return part('argument', false)
    case 'ArrayPattern':
      return (pattern.elements as (SyntaxNode | null)[]).flatMap((each) => (each ? namesIn(each, false) : []))
    case 'ObjectPattern':
      return (pattern.properties as SyntaxNode[]).flatMap((each) =>
        namesIn(childOf(each, 'value') ?? each, false),
      )
    default:
      return []
  }
}

/** The name in the type annotation of a declaration. */
export function typeOf(node: SyntaxNode): string | undefined {
  const annotation = childOf(node, 'typeAnnotation')
  const type = annotation && childOf(annotation, 'typeAnnotation')
  const named = type && childOf(type, 'typeName')
  return named && nameOf(named)
}
