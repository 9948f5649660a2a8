/**
 * Finds callbacks that the event loop calls and that could throw: an exception in one of them ends the process. A callback is
 * guarded by `safely(…)`, or consists of nothing but steps that cannot throw.
 */
import { isFunction, isNode, nodesOf, placeOf, type Source, type SyntaxNode } from './sources.ts'

/** Functions of timers, by the place of their callback. */
const timers = new Set(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'nextTick'])
/** Methods that take an event and its listener. */
const listenerMethods = new Set([
  'on',
  'once',
  'addListener',
  'prependListener',
  'prependOnceListener',
  'addEventListener',
])
/** Functions whose last argument is called back by the event loop. */
const callbackMethods = new Set([
  ...[
    'createServer',
    'connect',
    'createConnection',
    'request',
    'listen',
    'bind',
    'send',
    'write',
    'end',
    'close',
  ],
  ...['execFile', 'exec', 'lookup', 'pipeline', 'finished', 'subscribe'],
])
/** Methods that do not throw, whatever they are given. */
const harmless = new Set([
  ...[
    'destroy',
    'resume',
    'unpipe',
    'pause',
    'unref',
    'ref',
    'abort',
    'kill',
    'clearTimeout',
    'clearInterval',
    'closeAllConnections',
  ],
  ...[
    'push',
    'add',
    'delete',
    'clear',
    'set',
    'has',
    'now',
    'removeListener',
    'off',
    'safely',
    'inBackground',
    'String',
  ],
])
/** Methods of `log`, which drops what it cannot write. */
const logMethods = new Set(['debug', 'info', 'warn', 'error'])
/** Calls whose result is no promise, or one that its function never rejects. */
const notFloating = new Set(['on', 'write', 'end', 'abort', 'runDaemon', 'runService', 'register'])
/** Emitters of our own, which catch what their listeners throw. */
const ownEmitters = new Set(['changes'])

/** @returns `path:line what` */
export function findUnguardedCallbacks(source: Source): string[] {
  const nodes = [...nodesOf(source.program)]
  const bindings = new Map<string, SyntaxNode>()
  const settlers = new Set<string>()
  for (const { node, ancestors } of nodes) {
    if (node.type === 'FunctionDeclaration' && isNode(node.id)) bindings.set(String(node.id.name), node)
    if (
      node.type === 'VariableDeclarator' &&
      isNode(node.id) &&
      node.id.type === 'Identifier' &&
      isNode(node.init)
    )
      bindings.set(String(node.id.name), node.init)
    if (node.type === 'PropertyDefinition' && isNode(node.key) && isNode(node.value))
      bindings.set(memberName(String(node.key.name)), node.value)
    const made = ancestors.at(-1)
    if (isFunction(node) && made?.type === 'NewExpression' && calleeName(made) === 'Promise')
      for (const each of node.params as SyntaxNode[]) settlers.add(String(each.name))
  }
  const check = createCheck(bindings, settlers)
  const found = (node: SyntaxNode, what: string) =>
    `${placeOf(source, node)} ${what}: ${firstLine(source.text, node)}`
  return nodes.flatMap(({ node, ancestors }) => [
    ...callbacksOf(node)
      .filter((callback) => !check.isSafeCallback(callback))
      .map(() => found(node, 'unguarded callback')),
    ...(isFloating(node, ancestors) && !check.isHandled(node)
      ? [found(node, 'promise that nothing handles')]
      : []),
  ])
}

/** The name of a member of a class among the names of a file. */
const memberName = (name: string): string => `this.${name}`

const firstLine = (text: string, { start, end }: SyntaxNode): string =>
  text.slice(start, end).split('\n', 1)[0]!.slice(0, 100)

function calleeName(node: SyntaxNode): string {
  const callee = plain(node.callee as SyntaxNode)
  if (callee.type === 'Identifier') return String(callee.name)
  if (callee.type === 'MemberExpression' && isNode(callee.property)) return String(callee.property.name ?? '')
  return ''
}

/** Of `log.warn(…)`, `log`. */
function objectName(node: SyntaxNode): string {
  const callee = plain(node.callee as SyntaxNode)
  return callee.type === 'MemberExpression' ? String(plain(callee.object as SyntaxNode).name ?? '') : ''
}

/** Without the wrappers that mean nothing at run time. */
function plain(node: SyntaxNode): SyntaxNode {
  const wrappers = [
    'ParenthesizedExpression',
    'TSAsExpression',
    'TSNonNullExpression',
    'TSSatisfiesExpression',
    'ChainExpression',
  ]
  return wrappers.includes(node.type) ? plain(node.expression as SyntaxNode) : node
}

/** What a call hands to the event loop. */
function callbacksOf(node: SyntaxNode): SyntaxNode[] {
  if (node.type !== 'CallExpression') return []
  const name = calleeName(node)
  const args = (node.arguments as SyntaxNode[]).map(plain)
  const isMethod = plain(node.callee as SyntaxNode).type === 'MemberExpression'
  if (timers.has(name) && (!isMethod || name === 'nextTick')) return args.slice(0, 1)
  if (isMethod && ownEmitters.has(objectName(node))) return []
  if (isMethod && listenerMethods.has(name) && args.length >= 2) return args.slice(1, 2)
  if (callbackMethods.has(name)) return args.slice(-1).filter(isFunction)
  return []
}

/** A call whose promise, if it is one, goes nowhere. */
function isFloating(node: SyntaxNode, above: readonly SyntaxNode[]): boolean {
  if (node.type !== 'CallExpression') return false
  const holder = above.findLast(({ type }) => type !== 'ChainExpression')
  if (holder?.type === 'UnaryExpression' && holder.operator === 'void') return true
  return holder?.type === 'ExpressionStatement' && ['then', 'finally', 'catch'].includes(calleeName(node))
}

function createCheck(bindings: ReadonlyMap<string, SyntaxNode>, settlers: ReadonlySet<string>) {
  /** Functions that are being looked at: one that calls itself is no reason to call it unsafe. */
  const open = new Set<SyntaxNode>()

  function isSafeCallback(callback: SyntaxNode): boolean {
    const node = plain(callback)
    if (isFunction(node)) return isSafeFunction(node)
    if (node.type === 'CallExpression') return calleeName(node) === 'safely'
    if (node.type === 'Identifier') return isSafeName(String(node.name))
    if (node.type === 'MemberExpression' && plain(node.object as SyntaxNode).type === 'ThisExpression')
      return isSafeName(memberName(String((node.property as SyntaxNode).name)))
    if (node.type === 'ConditionalExpression')
      return isSafeCallback(node.consequent as SyntaxNode) && isSafeCallback(node.alternate as SyntaxNode)
    return false
  }

  function isSafeName(name: string): boolean {
    if (settlers.has(name) || harmless.has(name)) return true
    const bound = bindings.get(name)
    return bound !== undefined && isSafeCallback(bound)
  }

  function isSafeFunction(node: SyntaxNode): boolean {
    if (open.has(node)) return true
    open.add(node)
    const isSafe =
      (node.params as SyntaxNode[]).every(({ type }) => type !== 'AssignmentPattern') &&
      isSafe_(node.body as SyntaxNode)
    open.delete(node)
    return isSafe
  }

  const all = (value: unknown): boolean =>
    (Array.isArray(value) ? value : [value]).every((each) => !isNode(each) || isSafe_(each))

  /** Whether running this cannot throw. */
  function isSafe_(outer: SyntaxNode): boolean {
    const node = plain(outer)
    switch (node.type) {
      case 'BlockStatement':
        return all(node.body)
      case 'ExpressionStatement':
      case 'ReturnStatement':
      case 'UnaryExpression':
      case 'UpdateExpression':
        return all([node.expression, node.argument])
      case 'TryStatement':
        return isNode(node.handler) && all([node.handler.body, node.finalizer])
      case 'IfStatement':
      case 'ConditionalExpression':
        return all([node.test, node.consequent, node.alternate])
      case 'LogicalExpression':
      case 'BinaryExpression':
      case 'AssignmentExpression':
        return all([node.left, node.right])
      case 'VariableDeclaration':
        return (node.declarations as SyntaxNode[]).every(
          ({ id, init }) => (id as SyntaxNode).type === 'Identifier' && all([init]),
        )
      case 'MemberExpression':
        // One step: what an event hands over has members, their members may be missing.
        return (
          plain(node.object as SyntaxNode).type !== 'MemberExpression' &&
          all([node.object]) &&
          (!node.computed || all([node.property]))
        )
      case 'TemplateLiteral':
        return all(node.expressions)
      case 'ObjectExpression':
        return (node.properties as SyntaxNode[]).every(
          (each) => each.type === 'Property' && all([each.value]),
        )
      case 'ArrayExpression':
        return all(node.elements)
      case 'NewExpression':
        return /^(Set|Map|\w*Error)$/.test(calleeName(node)) && all(node.arguments)
      case 'CallExpression':
        return isSafeCall(node)
      default:
        return [
          'Identifier',
          'Literal',
          'EmptyStatement',
          'ArrowFunctionExpression',
          'FunctionExpression',
          'ThisExpression',
        ].includes(node.type)
    }
  }

  function isSafeCall(node: SyntaxNode): boolean {
    const name = calleeName(node)
    if (!all(node.arguments)) return false
    // The callback of a timer is looked at where the timer is set.
    if (plain(node.callee as SyntaxNode).type === 'Identifier') return timers.has(name) || isSafeName(name)
    return harmless.has(name) || (objectName(node) === 'log' && logMethods.has(name)) || isHandled(node)
  }

  /** A promise whose rejection has a handler that cannot throw, or a call that gives none. */
  function isHandled(node: SyntaxNode): boolean {
    const name = calleeName(node)
    const args = node.arguments as SyntaxNode[]
    if (name === 'catch') return args.length === 1 && isSafeCallback(args[0]!)
    if (name === 'then')
      return args.length === 2 && args.every((each) => isSafeCallback(each) || each.type === 'Identifier')
    return harmless.has(name) || notFloating.has(name)
  }

  return { isSafeCallback, isHandled }
}
