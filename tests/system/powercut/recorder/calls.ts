/** Reads what strace writes: one system call a line, or two where another thread's call came between its entry and its return. */

/** A system call that returned without an error; of those that failed, the syncs alone. */
export interface SystemCall {
  readonly name: string
  readonly pid: number
  /** As strace writes them; every byte of a text is `\xNN`. */
  readonly args: readonly string[]
  /** Negative where it failed. */
  readonly result: number
  /** What strace says of a returned descriptor: a path, or a socket with its addresses. */
  readonly resultPath: string | undefined
  /** Lines at which it was entered and at which it had returned. */
  readonly entered: number
  readonly returned: number
}

/** A sync that failed changes what a later one saves. */
const countsWhenFailed = /^f(data)?sync$/

const complete = /^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+|\?)(.*)$/
const unfinished = /^(\d+)\s+(\w+)\((.*?),? ?<unfinished \.\.\.>$/
const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>(?:, )?(.*)$/

/** @throws Error for a text that strace has cut off: the recording would not hold what was written */
export function readCalls(text: string): SystemCall[] {
  const calls: SystemCall[] = []
  const open = new Map<string, { text: string; entered: number }>()
  const take = (line: string, entered: number, returned: number) => {
    const match = complete.exec(line)
    if (!match) return
    const [, pid = '', name = '', args = '', result = '', rest = ''] = match
    if (result === '?' || (Number(result) < 0 && !countsWhenFailed.test(name))) return
    if (args.includes('"...')) throw new Error(`strace cut off the data of a call of ${name}`)
    const path = /^<(.*)>(?: |$)/.exec(rest)?.[1]
    calls.push({
      name,
      pid: Number(pid),
      args: splitArguments(args),
      result: Number(result),
      resultPath: path === undefined ? undefined : textOf(path),
      entered,
      returned,
    })
  }
  for (const [at, line] of text.split('\n').entries()) {
    const begun = unfinished.exec(line)
    if (begun) {
      const [, pid = '', name = '', args = ''] = begun
      open.set(pid, { text: `${pid} ${name}(${args}`, entered: at })
      continue
    }
    const ended = resumed.exec(line)
    if (!ended) {
      take(line, at, at)
      continue
    }
    const [, pid = '', , rest = ''] = ended
    const begin = open.get(pid)
    open.delete(pid)
    if (begin)
      take(begin.text + (/^[)]/.test(rest) || begin.text.endsWith('(') ? '' : ', ') + rest, begin.entered, at)
  }
  return calls
}

/** Splits at the commas that stand in no bracket. */
function splitArguments(text: string): string[] {
  const found: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if ('[{('.includes(character)) depth++
    else if (']})'.includes(character)) depth--
    else if (character === ',' && depth === 0) {
      found.push(text.slice(from, at).trim())
      from = at + 1
    }
  }
  if (from < text.length) found.push(text.slice(from).trim())
  return found
}

/** Bytes of every text in an argument, one after the other: those of a plain buffer, or of a list of buffers. */
export function bytesOf(argument: string): Buffer {
  const texts = [...argument.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) =>
    hex.replaceAll('\\x', ''),
  )
  return Buffer.from(texts.join(''), 'hex')
}

/** A text in which strace wrote the bytes of paths as `\xNN`. */
export const textOf = (written: string): string =>
  written.replace(/(?:\\x[0-9a-f]{2})+/g, (hex) => Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString())

/** A descriptor with what it leads to: `23</path>`. */
export function descriptorOf(argument: string): { fd: number; path: string } {
  const match = /^(-?\d+|AT_FDCWD)(?:<(.*)>)?$/.exec(argument)
  return { fd: Number(match?.[1]), path: textOf(match?.[2] ?? '') }
}
