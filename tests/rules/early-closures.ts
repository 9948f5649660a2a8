/**
 * Finds closures that mention a `const`, `let` or class of the same function that is declared after them. Such a closure throws
 * when it is called before the declaration has run, as a timer, a socket or an `await` in between can bring about.
 *
 * A named function counts at its first use: where its name is mentioned outside of other named functions of its block.
 */
import { childrenOf, isFunction, nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

/** A statement list of a function: what is declared in it lives as long as a call. */
interface Block {
  readonly statements: readonly SyntaxNode[]
  /** The named functions of the block. */
  readonly functions: ReadonlyMap<string, SyntaxNode>
}

interface Mention {
  readonly node: SyntaxNode
  /** The named function of the block around the mention. */
  readonly within: string | undefined
  /** Where the outermost closure around the mention begins, if one is around it. */
  readonly closure: SyntaxNode | undefined
}

/** @returns `path:line name`, the line being that of the closure */
export function findEarlyClosures(source: Source): string[] {
  const findings = [...nodesOf(source.program)].flatMap(({ node, ancestors }) =>
    ancestors.some(isFunction) && isStatementList(node) ? findInBlock(source, node) : [],
  )
  return [...new Set(findings)]
}

const isStatementList = ({ type }: SyntaxNode): boolean =>
  type === 'BlockStatement' || type === 'FunctionBody' || type === 'StaticBlock'

function findInBlock(source: Source, node: SyntaxNode): string[] {
  const block = readBlock(node)
  return block.statements.flatMap((statement) =>
    namesDeclaredBy(statement).flatMap((name) => {
      const isEarly = ({ start }: SyntaxNode) => start < statement.start
      return mentionsOf(name, block).flatMap(({ within, closure }) => {
        const used = within === undefined ? closure : firstUseOf(within, block)
        return used && isEarly(used) ? [`${placeOf(source, used)} ${name}`] : []
      })
    }),
  )
}

function readBlock(node: SyntaxNode): Block {
  const statements = node.body as SyntaxNode[]
  const functions = new Map<string, SyntaxNode>()
  for (const statement of statements) {
    if (statement.type === 'FunctionDeclaration') functions.set(nameOf(statement.id), statement)
    for (const { id, init } of declaratorsOf(statement))
      if (init && (isFunction(init) || isGuard(init))) functions.set(nameOf(id), init)
  }
  return { statements, functions }
}

/** `safely(…)`, which makes a function and calls nothing. */
const isGuard = ({ type, callee }: SyntaxNode): boolean =>
  type === 'CallExpression' && nameOf(callee) === 'safely'

const nameOf = (id: unknown): string => String((id as { name?: string }).name ?? '')

const declaratorsOf = (statement: SyntaxNode) =>
  statement.type === 'VariableDeclaration' && statement.kind !== 'var'
    ? (statement.declarations as { id: SyntaxNode; init: SyntaxNode | null }[])
    : []

/** Names that do not exist before their statement has run; a function declaration exists from the start. */
function namesDeclaredBy(statement: SyntaxNode): string[] {
  if (statement.type === 'ClassDeclaration') return [nameOf(statement.id)]
  return declaratorsOf(statement).flatMap(({ id }) => namesOfPattern(id))
}

function namesOfPattern(pattern: SyntaxNode): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [nameOf(pattern)]
    case 'AssignmentPattern':
      return namesOfPattern(pattern.left as SyntaxNode)
    case 'RestElement':
      return namesOfPattern(pattern.argument as SyntaxNode)
    case 'Property':
      return namesOfPattern(pattern.value as SyntaxNode)
    default:
      return childrenOf(pattern)
        .filter(({ type }) => !type.startsWith('TS'))
        .flatMap(namesOfPattern)
  }
}

/** Every use of a name in a block, without those that an inner declaration of the same name takes. */
function mentionsOf(name: string, { statements, functions }: Block): Mention[] {
  const found: Mention[] = []
  const names = new Map([...functions].map(([each, made]) => [made, each]))
  const visit = (node: SyntaxNode, within: string | undefined, closure: SyntaxNode | undefined) => {
    if (isType(node) || declaresAnew(node, name)) return
    if (node.type === 'Identifier') {
      if (node.name === name) found.push({ node, within, closure })
      return
    }
    const named = names.get(node)
    const around = closure ?? (isFunction(node) ? node : undefined)
    for (const child of valuesOf(node)) visit(child, within ?? named, around)
  }
  for (const statement of statements) visit(statement, undefined, undefined)
  return found
}

/** The children of a node that are evaluated: no types, no names of members. */
function valuesOf(node: SyntaxNode): readonly SyntaxNode[] {
  const skipped =
    node.type === 'MemberExpression' && !node.computed
      ? node.property
      : /^(Property|MethodDefinition|PropertyDefinition)$/.test(node.type) && !node.computed
        ? node.key
        : undefined
  const all = childrenOf(node)
  return skipped === undefined ? all : all.filter((child) => child !== skipped)
}

const isType = ({ type }: SyntaxNode): boolean =>
  type.startsWith('TS') && !/^TS(As|NonNull|Satisfies|Instantiation)\w*$/.test(type)

/** Whether a function or an inner block has a declaration of its own of this name. */
function declaresAnew(node: SyntaxNode, name: string): boolean {
  if (isFunction(node)) return (node.params as SyntaxNode[]).flatMap(namesOfPattern).includes(name)
  if (node.type === 'CatchClause')
    return node.param !== null && namesOfPattern(node.param as SyntaxNode).includes(name)
  if (/^For(In|Of)?Statement$/.test(node.type)) {
    const head = (node.init ?? node.left ?? null) as SyntaxNode | null
    return head !== null && namesDeclaredBy(head).includes(name)
  }
  if (!isStatementList(node)) return false
  return (node.body as SyntaxNode[]).some(
    (statement) =>
      namesDeclaredBy(statement).includes(name) ||
      (statement.type === 'FunctionDeclaration' && nameOf(statement.id) === name),
  )
}

/** The first place from which a named function of the block may be called. */
function firstUseOf(
  name: string,
  block: Block,
  seen: ReadonlySet<string> = new Set(),
): SyntaxNode | undefined {
  if (seen.has(name)) return undefined
  const uses = mentionsOf(name, block)
    .filter(({ node }) => !isOwnName(node, block))
    .flatMap(({ node, within, closure }) => {
      if (within !== undefined) return firstUseOf(within, block, new Set([...seen, name])) ?? []
      return [closure ?? node]
    })
  return uses.sort((one, other) => one.start - other.start)[0]
}

/** The name in a declaration of the block. */
const isOwnName = (node: SyntaxNode, { statements }: Block): boolean =>
  statements.some(
    (statement) =>
      (statement.type === 'FunctionDeclaration' && statement.id === node) ||
      declaratorsOf(statement).some(({ id }) => id === node),
  )
