/** Measures functions in lines of code: blank lines and lines with only a comment do not count, nested functions do. */
import { isFunction, nodesOf, type Source, type SyntaxNode } from './sources.ts'

export interface MeasuredFunction {
  /** `path name`; the name is that of the variable or member that holds the function, if it has none of its own. */
  readonly id: string
  readonly lines: number
}

/** A blank line, or one with only a comment. */
const withoutCode = /^\s*(?:$|\/\/|\/\*|\*(?:\s|\/|$))/

/** @returns the functions of a source with more lines of code than `limit` */
export function findLongFunctions(source: Source, limit: number): MeasuredFunction[] {
  const found: MeasuredFunction[] = []
  for (const { node, ancestors } of nodesOf(source.program)) {
    if (!isFunction(node)) continue
    const lines = countLines(source.text.slice(node.start, node.end))
    if (lines > limit) found.push({ id: `${source.path} ${nameOf(node, ancestors.at(-1))}`, lines })
  }
  return found
}

const countLines = (text: string): number => text.split('\n').filter((line) => !withoutCode.test(line)).length

function nameOf(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  const names = [node.id, parent?.id, parent?.key] as ({ name?: string } | null | undefined)[]
  return names.find((each) => each?.name !== undefined)?.name ?? 'anonymous'
}
