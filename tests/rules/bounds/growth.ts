/**
 * Finds what can outgrow its owner: maps, sets, lists, texts, buffers and chains of promises that a function makes larger
 * without having created them. What a function creates and fills itself ends with its call, and is none of these, unless a loop
 * fills it with what arrives (`for await`). Collections that are created empty where they last are found even if nothing in
 * their file fills them.
 */
import { nodesOf, placeOf, type Source, type SyntaxNode } from '../sources.ts'
import {
  type Ancestors,
  type Binding,
  childOf,
  methodOf,
  nameOf,
  plain,
  readBindings,
  runnerOf,
  scopeOf,
  typeOf,
} from './bindings.ts'

export interface Growth {
  /** By the functions and classes around its declaration: `createBrowser.entries`, `Columns.#names`. */
  readonly name: string
  /** `path:line` of what makes it grow. */
  readonly place: string
}

const growing = new Set(['set', 'add', 'push', 'unshift', 'append'])
/** Calls that return something new. */
const making = new Set([
  ...['map', 'filter', 'flatMap', 'slice', 'concat', 'split', 'from', 'of', 'fromEntries', 'entries', 'keys'],
  ...['values', 'toSorted', 'toReversed', 'toSpliced', 'alloc', 'allocUnsafe', 'fill', 'match'],
])
/** Of a fixed size, cleared together with their keys, or as short as an address. */
const fixedSize = /^(?:\w+Array|ArrayBuffer|DataView|WeakMap|WeakSet|Buffer|URLSearchParams|Headers|URL)$/

interface Target {
  readonly expression: SyntaxNode
  /** The operation may as well add numbers. */
  readonly isSum?: boolean
  /** Nothing is assigned: only a variable that gets new values may carry it on. */
  readonly isCarried?: boolean
  /** The key of `a[key] = b`. */
  readonly key?: SyntaxNode
  /** Another value takes its place: then it has no fixed size. */
  readonly isReplaced?: boolean
}

export function findGrowth(source: Source): Growth[] {
  const find = createNaming(source)
  return [...nodesOf(source.program)].flatMap(({ node, ancestors }) => {
    const target = targetOf(source.text, node) ?? queueOf(source.text, node, ancestors)
    const name = target ? find.ofTarget(target, [...ancestors, node]) : find.ofEmpty(node, ancestors)
    return name === undefined ? [] : [{ name, place: placeOf(source, node) }]
  })
}

const same = (text: string, a: SyntaxNode, b: SyntaxNode): boolean =>
  text.slice(a.start, a.end) === text.slice(b.start, b.end)

/** What an operation makes larger. */
function targetOf(text: string, node: SyntaxNode): Target | undefined {
  if (node.type === 'CallExpression') {
    const callee = plain(childOf(node, 'callee')!)
    if (callee.type !== 'MemberExpression') return undefined
    const args = node.arguments as SyntaxNode[]
    const method = methodOf(node)
    const object = plain(childOf(callee, 'object')!)
    const isGrowing = (growing.has(method) && args.length > 0) || (method === 'splice' && args.length > 2)
    if (isGrowing) return { expression: object }
    return method === 'assign' && nameOf(object) === 'Object' && args[0]
      ? { expression: plain(args[0]) }
      : undefined
  }
  // `rest + chunk`, of which a part becomes the next `rest`.
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const first = plain(childOf(node, 'left')!)
    return first.type === 'Identifier' ? { expression: first, isSum: true, isCarried: true } : undefined
  }
  if (node.type !== 'AssignmentExpression') return undefined
  const left = plain(childOf(node, 'left')!)
  if (left.type === 'MemberExpression' && left.computed && childOf(left, 'property')!.type !== 'Literal')
    return { expression: plain(childOf(left, 'object')!), key: childOf(left, 'property')! }
  if (node.operator === '+=') return { expression: left, isSum: true }
  return node.operator === '=' && growsFrom(text, left, plain(childOf(node, 'right')!))
    ? { expression: left, isReplaced: true }
    : undefined
}

/** `const mine = last.then(work)` in a function that replaces `last`: a queue of all that waits for its turn. */
function queueOf(text: string, node: SyntaxNode, around: Ancestors): Target | undefined {
  if (node.type !== 'CallExpression' || methodOf(node) !== 'then') return undefined
  const callee = plain(childOf(node, 'callee')!)
  if (callee.type !== 'MemberExpression') return undefined
  const promise = plain(childOf(callee, 'object')!)
  const isReplaced = [...nodesOf(runnerOf(around))].some(
    (each) => each.node.type === 'AssignmentExpression' && same(text, childOf(each.node, 'left')!, promise),
  )
  return isReplaced ? { expression: promise } : undefined
}

/** `a = [...a, b]`, `a = { ...a, [b]: c }`, `a = a.concat(b)`, `a = Buffer.concat([a, b])`, `a = a.then(b)`. */
function growsFrom(text: string, left: SyntaxNode, right: SyntaxNode): boolean {
  const isChained = right.type === 'CallExpression' && /^(?:concat|then|finally|catch)$/.test(methodOf(right))
  if (isChained) {
    const callee = plain(childOf(right, 'callee')!)
    if (callee.type === 'MemberExpression' && same(text, plain(childOf(callee, 'object')!), left)) return true
  }
  return [...nodesOf(right)].some(({ node }) => {
    if (!/^(?:Array|Object)Expression$/.test(node.type)) return false
    const parts = ((node.elements ?? node.properties) as (SyntaxNode | null)[]).filter(
      (each) => each !== null,
    )
    const isLeft = (each: SyntaxNode) => same(text, childOf(each, 'argument') ?? each, left)
    const isMore = (each: SyntaxNode) =>
      node.type === 'ArrayExpression' || each.type === 'SpreadElement' || each.computed === true
    return parts.some(isLeft) && parts.some((each) => !isLeft(each) && isMore(each))
  })
}

const constructorOf = (value: SyntaxNode | undefined): string =>
  value?.type === 'NewExpression' ? nameOf(childOf(value, 'callee')) : ''

/** Whether a value is new: then what fills it is seen where it was made. */
function isNew(value: SyntaxNode | undefined): boolean {
  if (!value) return true
  const node = plain(value)
  if (node.type === 'AwaitExpression') return isNew(childOf(node, 'argument'))
  if (node.type === 'ConditionalExpression')
    return isNew(childOf(node, 'consequent')) && isNew(childOf(node, 'alternate'))
  if (node.type === 'LogicalExpression') return isNew(childOf(node, 'left')) && isNew(childOf(node, 'right'))
  if (node.type === 'CallExpression') return making.has(methodOf(node))
  return /^(?:Array|Object|New|Binary|Function|ArrowFunction)Expression$|Literal$/.test(node.type)
}

const isSymbol = (binding: Binding | undefined): boolean =>
  binding?.init?.type === 'CallExpression' && methodOf(binding.init) === 'Symbol'

const isText = (value: SyntaxNode | undefined): boolean =>
  value?.type === 'TemplateLiteral' || (value?.type === 'Literal' && typeof value.value === 'string')

/** A loop that goes on as long as something arrives: `for await`, or one that waits and has no list. */
function isFed(node: SyntaxNode): boolean {
  if (node.type === 'ForOfStatement') return node.await === true
  return (
    /^(?:While|DoWhile|For)Statement$/.test(node.type) &&
    [...nodesOf(node)].some((each) => each.node.type === 'AwaitExpression')
  )
}

/** `new Map()`, `new Set()`, `[]`, `{}`. */
function isEmptyCollection(value: SyntaxNode): boolean {
  if (/^(?:Map|Set|Array)$/.test(constructorOf(value))) return (value.arguments as unknown[]).length === 0
  return value.type === 'ArrayExpression' && (value.elements as unknown[]).length === 0
}

function createNaming({ program, text }: Source) {
  const bindingOf = readBindings(program)
  const fields = new Map<string, SyntaxNode>()
  for (const { node, ancestors } of nodesOf(program))
    if (node.type === 'PropertyDefinition')
      fields.set([...scopeOf(ancestors), nameOf(childOf(node, 'key'))].join('.'), node)

  function ofField(members: readonly string[], around: Ancestors, isSum: boolean): string | undefined {
    const body = around.findLastIndex(({ type }) => type === 'ClassBody')
    const name = [...scopeOf(around.slice(0, body)), ...members].join('.')
    const field = fields.get(name)
    const value = field && childOf(field, 'value')
    if (members.length === 0 || (isSum && !isText(value))) return undefined
    return fixedSize.test(constructorOf(value)) || fixedSize.test((field && typeOf(field)) ?? '')
      ? undefined
      : name
  }

  /** Whether it ends with the call that fills it. */
  function endsWithCall({ kind, owner, init, declaration }: Binding, around: Ancestors): boolean {
    if (kind !== 'variable' || owner === program || owner !== runnerOf(around) || !isNew(init)) return false
    const isInside = (loop: SyntaxNode) => loop.start <= declaration.start && declaration.end <= loop.end
    return !around.some((each) => isFed(each) && !isInside(each))
  }

  return {
    /** Undefined: it ends with the call that makes it grow, or has a fixed size. */
    ofTarget(target: Target, around: Ancestors): string | undefined {
      const { expression, key, isSum = false, isReplaced = false, isCarried = false } = target
      // A symbol is one member, however often it is written.
      if (key?.type === 'Identifier' && isSymbol(bindingOf(nameOf(key), around))) return undefined
      const { root, members } = partsOf(expression)
      if (root.type === 'ThisExpression') return ofField(members, around, isSum)
      if (root.type !== 'Identifier')
        return isSum || isNew(expression)
          ? undefined
          : [...scopeOf(around), text.slice(expression.start, expression.end)].join('.')
      const name = nameOf(root)
      const binding = bindingOf(name, around)
      if (isSum && (members.length > 0 || !isText(binding?.init))) return undefined
      if (isCarried && !binding?.isLet) return undefined
      const value = binding?.init && plain(binding.init)
      const hasFixedSize =
        fixedSize.test(constructorOf(value)) ||
        fixedSize.test(binding?.type ?? '') ||
        (value?.type === 'CallExpression' && methodOf(value).startsWith('alloc'))
      if (members.length === 0 && hasFixedSize && !isReplaced) return undefined
      if (binding && endsWithCall(binding, around)) return undefined
      return [...(binding?.scope ?? scopeOf(around)), name, ...members].join('.')
    },
    /** A collection that is created empty in a field, in a module, or for functions that are called later. */
    ofEmpty(node: SyntaxNode, around: Ancestors): string | undefined {
      const value = childOf(node, node.type === 'VariableDeclarator' ? 'init' : 'value')
      if (!value || !isEmptyCollection(plain(value))) return undefined
      if (node.type === 'PropertyDefinition')
        return [...scopeOf(around), nameOf(childOf(node, 'key'))].join('.')
      if (node.type !== 'VariableDeclarator') return undefined
      const name = nameOf(childOf(node, 'id'))
      const binding = bindingOf(name, around)
      const isShared = [...nodesOf(program)].some(
        (each) =>
          each.node.type === 'Identifier' &&
          each.node.name === name &&
          bindingOf(name, each.ancestors) === binding &&
          runnerOf(each.ancestors) !== binding?.owner,
      )
      return binding?.owner === program || isShared ? [...(binding?.scope ?? []), name].join('.') : undefined
    },
  }
}

/** `a` and `['b', 'get()']` of `a.b.get(c)`. */
function partsOf(expression: SyntaxNode): { root: SyntaxNode; members: string[] } {
  const members: string[] = []
  let root = plain(expression)
  for (;;) {
    if (root.type === 'MemberExpression') {
      members.unshift(root.computed ? '[]' : nameOf(childOf(root, 'property')))
      root = plain(childOf(root, 'object')!)
    } else if (root.type === 'CallExpression') {
      const callee = plain(childOf(root, 'callee')!)
      if (callee.type !== 'MemberExpression') return { root, members }
      members.unshift(`${methodOf(root)}()`)
      root = plain(childOf(callee, 'object')!)
    } else return { root, members }
  }
}
