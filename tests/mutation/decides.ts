/**
 * Whether a file decides anything. One that only declares types and constants, or joins parts that others made, has no rule that a
 * mutant could break, and needs no group. A condition that is added to it makes it a file that decides.
 */
import { isNode, type Source, type SyntaxNode } from '../rules/sources.ts'

/** Statements and operators that choose, refuse or repeat. */
const choices: ReadonlySet<string> = new Set([
  'AssignmentPattern',
  'ChainExpression',
  'ConditionalExpression',
  'DoWhileStatement',
  'ForInStatement',
  'ForOfStatement',
  'ForStatement',
  'IfStatement',
  'LogicalExpression',
  'SwitchStatement',
  'ThrowStatement',
  'TryStatement',
  'WhileStatement',
])

/** Comparisons, and what sets or removes single bits, as in the mode of a file. */
const decidingOperators = /^(?:[<>]=?|[!=]==?|in|instanceof|!|~|&|\||\^|<<|>>>?|(?:\?\?|\|\||&&|&|\||\^)=)$/

/** Functions and methods that compare, search, cut, limit, refuse or remove. */
const decidingNames = new RegExp(
  [
    '^(?:at|every|exec|filter|find|findIndex|findLast|flatMap|has|includes|indexOf|match|matchAll|max|min|reject|replace|replaceAll)$',
    '^(?:slice|some|split|startsWith|endsWith|subarray|test|trim|setTimeout|setInterval|timingSafeEqual)$',
    '^(?:allow|assert|check|deny|guard|is[A-Z]|limit|may[A-Z]|must|redact|refuse|removeAll|require|safeParse|sanitize|verify|without)',
  ].join('|'),
)

/** The name at the beginning of `z.array(…).parse`. */
function rootOf(node: SyntaxNode): string | undefined {
  if (node.type === 'Identifier') return node.name as string
  const inner = node.object ?? node.callee
  return isNode(inner) ? rootOf(inner) : undefined
}

function isDecision(node: SyntaxNode): boolean {
  if (choices.has(node.type)) return true
  if (typeof node.operator === 'string' && decidingOperators.test(node.operator)) return true
  if (node.type === 'Literal') return node.regex !== undefined
  // A table of texts, such as one of networks, is what others compare with.
  if (node.type === 'ArrayExpression')
    return (node.elements as (SyntaxNode | null)[]).some((each) => typeof each?.value === 'string')
  if (node.type !== 'CallExpression') return false
  const callee = node.callee as SyntaxNode
  const { name } = (callee.type === 'MemberExpression' ? callee.property : callee) as { name?: string }
  // A schema states what may be read.
  return decidingNames.test(name ?? '') || rootOf(callee) === 'z'
}

/** Whether a file has a condition, comparison, pattern, schema, table, time limit or refusal. Types do not count. */
export const decides = ({ program }: Pick<Source, 'program'>): boolean => contains(program.body)

function contains(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(contains)
  if (!isNode(value) || isType(value)) return false
  return isDecision(value) || Object.values(value).some(contains)
}

/** Nodes of TypeScript that have no code, or only around an expression. */
const aroundCode = /^TS(?:As|NonNull|Satisfies|Instantiation|Parameter|Enum)/
const isType = ({ type }: SyntaxNode): boolean => type.startsWith('TS') && !aroundCode.test(type)
