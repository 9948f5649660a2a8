/** Which streams a test opens: by `opens('<path>')` among the arguments of the test, or by the member `opens` of its row. */
import { childOf, nameOf } from '../bounds/bindings.ts'
import { childrenOf, isFunction, nodesOf, type Source, type SyntaxNode } from '../sources.ts'

const isText = (node: SyntaxNode | undefined, text: string): boolean =>
  node?.type === 'Literal' && node.value === text

/** The nodes of an expression, without those inside of functions. */
function* outsideFunctions(node: SyntaxNode): Generator<SyntaxNode> {
  yield node
  if (isFunction(node)) return
  for (const child of childrenOf(node)) yield* outsideFunctions(child)
}

/** Whether it is `opens('<path>')`. */
function names(node: SyntaxNode, path: string): boolean {
  if (node.type !== 'CallExpression' || nameOf(childOf(node, 'callee')) !== 'opens') return false
  return (node.arguments as readonly SyntaxNode[]).some((each) => isText(each, path))
}

/** Whether a call is a test with this title that names the path. */
function isTestOf(node: SyntaxNode, title: string, path: string): boolean {
  if (node.type !== 'CallExpression') return false
  const [first, ...others] = node.arguments as readonly SyntaxNode[]
  return (
    isText(first, title) && others.some((each) => [...outsideFunctions(each)].some((one) => names(one, path)))
  )
}

/** Whether an object is the row of a test: `{ what: '<title>', opens: '<path>', … }`. */
function isRowOf(node: SyntaxNode, title: string, path: string): boolean {
  if (node.type !== 'ObjectExpression') return false
  const has = (name: string, text: string) =>
    (node.properties as readonly SyntaxNode[]).some(
      (each) => nameOf(childOf(each, 'key')) === name && isText(childOf(each, 'value'), text),
    )
  return has('what', title) && has('opens', path)
}

/** Whether the file has a test of this title that opens the stream which the source at this path writes to. */
export const opensStream = ({ program }: Source, title: string, path: string): boolean =>
  [...nodesOf(program)].some(({ node }) => isTestOf(node, title, path) || isRowOf(node, title, path))
