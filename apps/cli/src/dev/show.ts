/** What `dev` shows: deployments, errors with the lines of the author, and the log of the service. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { LogLine } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { codeFrame } from '../archive/bundler/problem.ts'
import { describeFailure } from '../failure.ts'
import { indented } from '../output/clean.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Deployed } from './deploy.ts'

/** Bytes of the largest file that lines are shown of. */
const maxSourceBytes = 4 * 1024 * 1024

export interface Show {
  deployed(deployed: Deployed): void
  /** Shows each failure once until another one, or a deployment, comes between. */
  failed(cause: unknown): void
  logLine(line: LogLine): void
  /** The log cannot be followed. */
  logLost(why: string): void
}

export function createShow(terminal: Pick<Terminal, 'out' | 'note'>, folder: string): Show {
  /** The files of the author by the path that stack traces have. */
  let sources: ReadonlyMap<string, string> = new Map()
  let isInStack = false
  let lastFailure: string | undefined
  const frameIn = (text: string): string => {
    const [, path = '', line, column] =
      /(?:^|[\s(])([^\s():]{1,500}):(\d{1,7}):(\d{1,7})\)?$/.exec(text) ?? []
    const file = sources.get(path)
    if (file === undefined || !existsSync(file) || statSync(file).size > maxSourceBytes) return ''
    return codeFrame(readFileSync(file, 'utf8'), Number(line), Number(column))
  }
  return {
    deployed({ id, kind, url, modules, buildMs, deployMs }) {
      lastFailure = undefined
      const own = realpathSync(folder)
      const usual = ['index.js', 'index.mjs'].map((each) => [each, join(own, each)] as const)
      sources = new Map(modules.length > 0 ? modules.map((each) => [relative(own, each), each]) : usual)
      const times = `built in ${Math.round(buildMs)} ms, deployed in ${Math.round(deployMs)} ms`
      terminal.note(onOneLine(`deployed ${id} (${kind}) at ${url}  ${times}`), 'green')
    },
    failed(cause) {
      const { message, hint } = describeFailure(cause)
      const frame = frameIn(message.replace(/ \([a-z_]+\)$/, ''))
      const shown = JSON.stringify([message, frame, hint])
      // Tried again, or saved in several pieces: nothing that is new.
      if (shown === lastFailure) return
      lastFailure = shown
      terminal.note(`not deployed: ${indented(message)}`, 'red')
      if (frame !== '') terminal.note(indented(`  ${frame}`))
      if (hint !== undefined) terminal.note(`  ${indented(hint)}`)
    },
    logLost: (why) => terminal.note(`the log cannot be read, trying again: ${indented(why)}`, 'yellow'),
    logLine({ stream, text }) {
      const mark = stream === 'stdout' ? ' ' : stream === 'stderr' ? '!' : '#'
      terminal.out(
        `${mark} ${onOneLine(text)}`,
        stream === 'stderr' ? 'red' : stream === 'stdout' ? undefined : 'dim',
      )
      const isFrame = stream === 'stderr' && /^ {4}at /.test(text)
      const frame = isFrame && !isInStack ? frameIn(text) : ''
      // The lines of the author are shown once for each stack.
      isInStack = isFrame && (isInStack || frame !== '')
      if (frame !== '') terminal.out(`  ${indented(frame)}`, 'dim')
    },
  }
}
