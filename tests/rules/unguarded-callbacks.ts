/**
 * Finds callbacks that the event loop calls and that could throw: an exception in one of them ends the process. A callback is
 * guarded by `safely(…)`, or consists of nothing but steps that cannot throw.
 */
import { parseAst } from 'rolldown/parseAst'

export interface Finding {
  readonly line: number
  readonly what: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  )

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

/** @param text of a TypeScript file */
export function findUnguardedCallbacks(text: string): Finding[] {
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node
  const bindings = new Map<string, Node>()
  const settlers = new Set<string>()
  visit(program, [], (node, above) => {
    if (node.type === 'FunctionDeclaration' && isNode(node.id)) bindings.set(String(node.id.name), node)
    if (
      node.type === 'VariableDeclarator' &&
      isNode(node.id) &&
      node.id.type === 'Identifier' &&
      isNode(node.init)
    )
      bindings.set(String(node.id.name), node.init)
    const made = above.at(-1)
    if (isFunction(node) && made?.type === 'NewExpression' && calleeName(made) === 'Promise')
      for (const each of node.params as Node[]) settlers.add(String(each.name))
  })
  const check = createCheck(bindings, settlers)
  const findings: Finding[] = []
  const add = (node: Node, what: string) =>
    findings.push({
      line: text.slice(0, node.start).split('\n').length,
      what: `${what}: ${firstLine(text, node)}`,
    })
  visit(program, [], (node, above) => {
    for (const callback of callbacksOf(node))
      if (!check.isSafeCallback(callback)) add(node, 'unguarded callback')
    if (isFloating(node, above) && !check.isHandled(node)) add(node, 'promise that nothing handles')
  })
  return findings
}

const firstLine = (text: string, { start, end }: Node): string =>
  text.slice(start, end).split('\n', 1)[0]!.slice(0, 100)

function visit(node: Node, above: readonly Node[], see: (node: Node, above: readonly Node[]) => void): void {
  see(node, above)
  for (const child of childrenOf(node)) visit(child, [...above, node], see)
}

const isFunction = ({ type }: Node): boolean =>
  type === 'ArrowFunctionExpression' || type === 'FunctionExpression' || type === 'FunctionDeclaration'

function calleeName(node: Node): string {
  const callee = plain(node.callee as Node)
  if (callee.type === 'Identifier') return String(callee.name)
  if (callee.type === 'MemberExpression' && isNode(callee.property)) return String(callee.property.name ?? '')
  return ''
}

/** Of `log.warn(…)`, `log`. */
function objectName(node: Node): string {
  const callee = plain(node.callee as Node)
  return callee.type === 'MemberExpression' ? String(plain(callee.object as Node).name ?? '') : ''
}

/** Without the wrappers that mean nothing at run time. */
function plain(node: Node): Node {
  const wrappers = [
    'ParenthesizedExpression',
    'TSAsExpression',
    'TSNonNullExpression',
    'TSSatisfiesExpression',
    'ChainExpression',
  ]
  return wrappers.includes(node.type) ? plain(node.expression as Node) : node
}

/** What a call hands to the event loop. */
function callbacksOf(node: Node): Node[] {
  if (node.type !== 'CallExpression') return []
  const name = calleeName(node)
  const args = (node.arguments as Node[]).map(plain)
  const isMethod = plain(node.callee as Node).type === 'MemberExpression'
  if (timers.has(name) && (!isMethod || name === 'nextTick')) return args.slice(0, 1)
  if (isMethod && ownEmitters.has(objectName(node))) return []
  if (isMethod && listenerMethods.has(name) && args.length >= 2) return args.slice(1, 2)
  if (callbackMethods.has(name)) return args.slice(-1).filter(isFunction)
  return []
}

/** A call whose promise, if it is one, goes nowhere. */
function isFloating(node: Node, above: readonly Node[]): boolean {
  if (node.type !== 'CallExpression') return false
  const holder = above.findLast(({ type }) => type !== 'ChainExpression')
  if (holder?.type === 'UnaryExpression' && holder.operator === 'void') return true
  return holder?.type === 'ExpressionStatement' && ['then', 'finally', 'catch'].includes(calleeName(node))
}

function createCheck(bindings: ReadonlyMap<string, Node>, settlers: ReadonlySet<string>) {
  /** Functions that are being looked at: one that calls itself is no reason to call it unsafe. */
  const open = new Set<Node>()

  function isSafeCallback(callback: Node): boolean {
    const node = plain(callback)
    if (isFunction(node)) return isSafeFunction(node)
    if (node.type === 'CallExpression') return calleeName(node) === 'safely'
    if (node.type === 'Identifier') return isSafeName(String(node.name))
    if (node.type === 'ConditionalExpression')
      return isSafeCallback(node.consequent as Node) && isSafeCallback(node.alternate as Node)
    return false
  }

  function isSafeName(name: string): boolean {
    if (settlers.has(name) || harmless.has(name)) return true
    const bound = bindings.get(name)
    return bound !== undefined && isSafeCallback(bound)
  }

  function isSafeFunction(node: Node): boolean {
    if (open.has(node)) return true
    open.add(node)
    const isSafe =
      (node.params as Node[]).every(({ type }) => type !== 'AssignmentPattern') && isSafe_(node.body as Node)
    open.delete(node)
    return isSafe
  }

  const all = (value: unknown): boolean =>
    (Array.isArray(value) ? value : [value]).every((each) => !isNode(each) || isSafe_(each))

  /** Whether running this cannot throw. */
  function isSafe_(outer: Node): boolean {
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
        return (node.declarations as Node[]).every(
          ({ id, init }) => (id as Node).type === 'Identifier' && all([init]),
        )
      case 'MemberExpression':
        // One step: what an event hands over has members, their members may be missing.
        return (
          plain(node.object as Node).type !== 'MemberExpression' &&
          all([node.object]) &&
          (!node.computed || all([node.property]))
        )
      case 'TemplateLiteral':
        return all(node.expressions)
      case 'ObjectExpression':
        return (node.properties as Node[]).every((each) => each.type === 'Property' && all([each.value]))
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

  function isSafeCall(node: Node): boolean {
    const name = calleeName(node)
    if (!all(node.arguments)) return false
    // The callback of a timer is looked at where the timer is set.
    if (plain(node.callee as Node).type === 'Identifier') return timers.has(name) || isSafeName(name)
    return harmless.has(name) || (objectName(node) === 'log' && logMethods.has(name)) || isHandled(node)
  }

  /** A promise whose rejection has a handler that cannot throw, or a call that gives none. */
  function isHandled(node: Node): boolean {
    const name = calleeName(node)
    const args = node.arguments as Node[]
    if (name === 'catch') return args.length === 1 && isSafeCallback(args[0]!)
    if (name === 'then')
      return args.length === 2 && args.every((each) => isSafeCallback(each) || each.type === 'Identifier')
    return harmless.has(name) || notFloating.has(name)
  }

  return { isSafeCallback, isHandled }
}
