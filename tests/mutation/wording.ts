/**
 * A plugin of Stryker: the wording of an error, a refusal or a log line is not mutated. Words of the protocol have no blank and
 * are mutated everywhere; a text with a blank, and an object with nothing but a hint, is wording if it is a part of an argument of
 * `new …Error(…)`, `refusal(…)`, `refused(…)`, `invalid(…)` a method of a log or `describe(…)`. So is the name of a callback, for
 * the log of its failures.
 */
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

interface SyntaxNode {
  readonly type: string
  readonly [member: string]: unknown
}

/** As much of a NodePath of Babel as is used. */
interface Path {
  readonly node: SyntaxNode
  readonly parentPath: Path | null
}

const isText = ({ type, value, quasis, properties }: SyntaxNode): boolean =>
  (type === 'StringLiteral' && (value as string).includes(' ')) ||
  (type === 'TemplateLiteral' &&
    (quasis as { value: { raw: string } }[]).some((each) => each.value.raw.includes(' '))) ||
  (type === 'ObjectExpression' &&
    (properties as { key?: { name?: string } }[]).every(({ key }) => key?.name === 'hint'))

function isSpeaker({ type, callee }: SyntaxNode): boolean {
  const { name, property } = (callee ?? {}) as { name?: string; property?: { name?: string } }
  if (type === 'NewExpression') return name?.endsWith('Error') ?? false
  if (type !== 'CallExpression') return false
  return (
    /^(?:refusal|refused|invalid)$/.test(name ?? '') ||
    /^(?:debug|info|warn|error|describe)$/.test(property?.name ?? '')
  )
}

/** Whether it is the name that the log shows for failures of a callback or of work. */
function isNameInLog(node: SyntaxNode, around: SyntaxNode | undefined): boolean {
  const { callee, arguments: passed } = (around ?? {}) as {
    callee?: { name?: string }
    arguments?: SyntaxNode[]
  }
  return (
    passed?.[0] === node && /^(?:safely|inBackground|reportFailure|createRetry)$/.test(callee?.name ?? '')
  )
}

function isWording({ node, parentPath }: Path): boolean {
  if (isNameInLog(node, parentPath?.node)) return node.type === 'StringLiteral'
  if (!isText(node)) return false
  for (let around = parentPath; around; around = around.parentPath) {
    if (/Statement$|Function/.test(around.node.type)) return false
    if (isSpeaker(around.node)) return true
  }
  return false
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'wording', {
    shouldIgnore: (path: unknown) => (isWording(path as Path) ? 'wording' : undefined),
  }),
]
