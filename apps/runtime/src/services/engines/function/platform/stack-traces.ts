/** Stack traces of a function in the lines of its author: in place of the bundle, and without the frames of this program. */
import type { FindPosition, Position } from './source-map.ts'

/** As much of V8's CallSite as is used. */
interface CallSite {
  getFileName(): string | null | undefined
  getScriptNameOrSourceURL?(): string | null | undefined
  getLineNumber(): number | null
  getColumnNumber(): number | null
  getFunctionName(): string | null
  getTypeName(): string | null
  isAsync?(): boolean
  isConstructor(): boolean
  isToplevel(): boolean
  toString(): string
}

/** The name that an evaluated script has in its own frames. */
export const scriptName = 'selvedge:function'

/**
 * From here on the stack of each error names the author's files. A function may replace this; it changes only its own traces.
 *
 * @param own whether a file name is of the function
 * @param fallback name of the function's file, for places that no map knows
 */
export function mapStackTraces(own: (file: string) => boolean, find: FindPosition, fallback: string): void {
  const positionOf = (site: CallSite): Position | undefined => {
    const file = site.getScriptNameOrSourceURL?.() ?? site.getFileName()
    if (typeof file !== 'string' || !own(file)) return undefined
    const [line, column] = [site.getLineNumber() ?? 1, site.getColumnNumber() ?? 1]
    return find(line, column) ?? { file: fallback, line, column }
  }
  Object.defineProperty(Error, 'prepareStackTrace', {
    configurable: true,
    writable: true,
    enumerable: false,
    value: (error: unknown, sites: readonly CallSite[]) => {
      let text = ''
      let isOfFunction = false
      for (let at = 0; at < sites.length; at++) {
        const position = positionOf(sites[at]!)
        isOfFunction ||= position !== undefined
        // After a frame of the function come those of this program that called it.
        if (position) text += `\n    at ${frameOf(sites[at]!, position)}`
        else if (!isOfFunction || sites[at]!.getFileName() !== import.meta.url)
          text += `\n    at ${sites[at]}`
      }
      return titleOf(error) + text
    },
  })
}

/** The first place in the author's files that the stack of an error names, such as ` (index.ts:3:9)`; otherwise "". */
export function placeOf(error: unknown): string {
  const [, place = ''] = /\n {4}at (?:[^\n]{0,500} \()?([^\s()]{1,500}:\d+:\d+)\)?/.exec(stackOf(error)) ?? []
  return place === '' || place.includes('://') || place.startsWith('ext:') ? '' : ` (${place})`
}

function stackOf(error: unknown): string {
  try {
    return String((error as Error).stack).slice(0, 4000)
  } catch {
    return ''
  }
}

function frameOf(site: CallSite, { file, line, column }: Position): string {
  const place = `${file}:${line}:${column}`
  const name = nameOf(site)
  return `${site.isAsync?.() ? 'async ' : ''}${name === '' ? place : `${name} (${place})`}`
}

function nameOf(site: CallSite): string {
  const name = site.getFunctionName() ?? ''
  if (site.isConstructor()) return `new ${name === '' ? '<anonymous>' : name}`
  const type = site.isToplevel() ? null : site.getTypeName()
  return type === null || type === 'Object' || name === '' || name.startsWith(type) ? name : `${type}.${name}`
}

function titleOf(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'Error'
  }
}
