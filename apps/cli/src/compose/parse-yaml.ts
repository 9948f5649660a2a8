/** YAML 1.2 as far as Compose files use it: one document, the core tags, anchors with aliases, and merge keys (`<<`). */
import { composeLimits } from './limits.ts'
import type { Report } from './report.ts'
import type { Place, Tree } from './tree.ts'
import { TreeReader } from './tree-reader.ts'
import { Unreadable } from './unreadable.ts'

export interface YamlFile {
  /** As messages show it. */
  readonly name: string
  /** Absolute path of the folder that relative paths in it begin at. */
  readonly folder: string
  readonly bytes: Uint8Array
}

/** Deeper brackets would make the parser slow before it builds the first value. */
function hasDeepBrackets(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    // [ and {, ] and }.
    if (unit === 0x5b || unit === 0x7b) depth += 1
    else if ((unit === 0x5d || unit === 0x7d) && depth > 0) depth -= 1
    if (depth > composeLimits.depth * 16) return true
  }
  return false
}

/** A row of `- - -` or `? ? ?`: each is inside of the one before. */
const nestedRow = /^(?:[ \t]*[-?:](?=[ \t])){64}/m

/**
 * @param replace replaces the variables of a text
 * @throws Unreadable after a problem that leaves no tree; the report has it
 */
export async function parseYaml(
  file: YamlFile,
  report: Report,
  replace: (text: string, place: Place, path: string) => string,
): Promise<Tree> {
  const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await import('./yaml.lazy.ts')
  const lines = new LineCounter()
  const start: Place = { file: file.name, folder: file.folder, line: 1, column: 1 }
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { ...start, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const refuse = (message: string): never => {
    report.problem(start, '', message)
    throw new Unreadable(message)
  }
  const text = decode(file.bytes) ?? refuse('The file is not UTF-8. Save it in that encoding.')
  if (text.includes('\0')) refuse('The file has a NUL character. Remove it.')
  const tooDeep = `More than ${composeLimits.depth} lists and mappings are in each other. Write fewer.`
  if (hasDeepBrackets(text) || nestedRow.test(text)) refuse(tooDeep)
  const document = orDeep(
    () =>
      parseDocument(text, {
        version: '1.2',
        schema: 'core',
        lineCounter: lines,
        // Found by the reader: the parser compares each key with each other one.
        uniqueKeys: false,
        prettyErrors: false,
        // Not "silent": a second document would be left out without an error.
        logLevel: 'error',
      }),
    () => refuse(tooDeep),
  )
  for (const { pos, code, message } of document.errors)
    report.problem(
      placeAt(pos[0]),
      '',
      code === 'RESOURCE_EXHAUSTION' ? tooDeep : `This is not valid YAML: ${message}`,
    )
  if (document.errors.length > 0) throw new Unreadable('not YAML')
  return new TreeReader({ yaml: { isAlias, isMap, isScalar, isSeq }, placeAt, report, replace }).read(
    document.contents,
    start,
  )
}

/** The text of UTF-8, without a byte order mark; undefined for other bytes. */
export function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function orDeep<T>(make: () => T, otherwise: () => never): T {
  try {
    return make()
  } catch (cause) {
    if (cause instanceof RangeError) return otherwise()
    throw cause
  }
}
