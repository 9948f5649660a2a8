import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { opens } from '../../../../tests/harness/unread.ts'
import { createLineWriter } from './line-writer.ts'
import { createLog, droppedMessage } from './log.ts'

function collect() {
  const lines: string[] = []
  const log = createLog({ service: 'test', level: 'info', now: () => 0 }, (line) => lines.push(line))
  return { log, read: () => lines.map((line) => JSON.parse(line)) }
}

describe('a log', () => {
  it('shows an error with its causes', () => {
    const { log, read } = collect()
    log.error('failed', { cause: new Error('outer', { cause: new TypeError('inner') }) })
    expect(read()).toMatchObject([
      { message: 'failed', cause: { message: 'outer', cause: { name: 'TypeError', message: 'inner' } } },
    ])
  })

  it('writes a failure that repeats once a minute, with an ID, and what is no failure each time', () => {
    const { log, read } = collect()
    for (let at = 0; at < 1000; at++) {
      log.error('a fix could not be stored', { at, cause: new Error('the disk is full') })
      log.warn('seen', { at })
      log.info('seen', { at, cause: new Error('the disk is full') })
    }
    expect(read().filter(({ level }) => level === 'error')).toMatchObject([
      { at: 0, errorId: expect.any(String) },
    ])
    expect(read().filter(({ level }) => level !== 'error')).toHaveLength(2000)
  })

  it('of errors alone has no line of a warning', () => {
    const lines: string[] = []
    const log = createLog({ service: 'test', level: 'error', now: () => 0 }, (line) => lines.push(line))
    log.warn('hidden', { cause: new Error('one') })
    log.error('shown', { cause: new Error('one') })
    expect(lines).toHaveLength(1)
  })

  const cyclic = new Error('cyclic')
  cyclic.cause = { again: cyclic }
  const deep = Array.from({ length: 20_000 }).reduce((cause) => new Error('deep', { cause }), undefined)
  const hostile = Object.defineProperty(new Error('hostile'), 'cause', {
    get() {
      throw new Error('getter')
    },
  })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const toJSON = () => {
    throw new Error('toJSON')
  }
  it.each([
    ['an error that is its own cause', { cause: cyclic }],
    [
      'an object that holds itself',
      {
        own: (() => {
          const own: { own?: object } = {}
          own.own = own
          return own
        })(),
      },
    ],
    ['a BigInt', { value: 1n }],
    ['a cause whose getter throws', { cause: hostile }],
    ['20,000 nested causes', { cause: deep }],
    ['a revoked proxy', { value: revoked.proxy }],
    ['a toJSON that throws', { value: { toJSON } }],
    ['a message of a megabyte', { cause: new Error('x'.repeat(1e6)) }],
  ])('writes a line of at most 40 kB and does not throw for %s', (_, fields) => {
    const { log, read } = collect()
    log.error('failed', fields)
    expect(read()).toMatchObject([{ level: 'error', message: 'failed' }])
    expect(JSON.stringify(read()[0]).length).toBeLessThan(80_000)
  })

  it('writes no secret and no control sequence, wherever they stand', () => {
    const secret = 'S3cr3tS3cr3tS3cr3t'
    const lines: string[] = []
    const log = createLog({ service: 'test', level: 'debug', now: () => 0 }, (line) => lines.push(line))
    const cause = new Error(`answered Authorization: Bearer ${secret}`, {
      cause: new Error(`postgres://selvedge:${secret}@db/x`),
    })
    log.error(`refused password=${secret}`, { cause, code: 'ENOSPC' })
    log.debug('asked', { apiKey: secret, headers: { cookie: secret }, tokens: [secret], id: 'a' })
    log.warn('\u001b]0;title\u0007 \u009b2J \u202e', { name: '\u009b31m' })
    log.info(`${'x'.repeat(40_000)} ${secret}`)
    log.info('unreadable', {
      get password() {
        throw new Error(secret)
      },
    })
    expect(lines.join('\n')).not.toContain(secret)
    expect(lines.join('')).toMatch(/^[ -~]*$/)
    expect(JSON.parse(lines[0]!)).toMatchObject({ code: 'ENOSPC', message: 'refused password=<redacted>' })
    expect(JSON.parse(lines[1]!)).toMatchObject({ apiKey: '<apiKey>', tokens: '<tokens>', id: 'a' })
  })

  it('writes an object twice if two members refer to it', () => {
    const { log, read } = collect()
    const twice = { id: 1 }
    log.info('seen', { first: twice, second: twice })
    expect(read()).toMatchObject([{ first: { id: 1 }, second: { id: 1 } }])
  })
})

describe('a line writer', () => {
  it('counts what a failing stream refuses, and reports it once when writing works again', async () => {
    let isFull = true
    const written: string[] = []
    const stream = new Writable({
      // As Node's own standard streams do: an error does not close them.
      destroy(cause, done) {
        done(cause)
        ;(this as unknown as { _undestroy(): void })._undestroy()
      },
      write: (chunk, _, done) => {
        if (isFull) return done(Object.assign(new Error('full'), { code: 'ENOSPC' }))
        written.push(String(chunk))
        done()
      },
    })
    const writer = createLineWriter(stream, (dropped) => `dropped ${dropped}`)
    for (const line of ['a', 'b', 'c']) {
      writer.write(line)
      await new Promise(setImmediate)
    }
    expect(writer.dropped()).toBe(3)
    isFull = false
    for (const line of ['d', 'e']) {
      writer.write(line)
      await new Promise(setImmediate)
    }
    expect(written).toEqual(['d\n', 'dropped 3\n', 'e\n'])
  })

  it(
    'drops lines while a reader does not read, instead of storing them',
    opens('packages/service-kit/src/log/line-writer.ts'),
    async () => {
      const waiting: (() => void)[] = []
      const stream = new Writable({ write: (_chunk, _encoding, done) => void waiting.push(done) })
      const writer = createLineWriter(stream, (dropped) => `dropped ${dropped}`)
      for (let count = 0; count < 10_000; count++) writer.write('x'.repeat(100))
      expect(stream.writableLength).toBeLessThan(100_000)
      expect(writer.dropped()).toBeGreaterThan(9000)
    },
  )
})

describe('standard error that cannot be written', () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
    const log = createLog({ service: 'child', level: 'info', now: () => 0 })
    for (let round = 0; round < 2000; round++) {
      log.info('line', { text: 'x'.repeat(1000) })
      if (round % 100 === 0) await new Promise(setImmediate)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.stdout.write('alive', () => process.exit(7))`
  const run = (stderr: 'pipe' | string): ChildProcess => {
    const node = [process.execPath, '--conditions=source', '--input-type=module', '-e', program]
    return stderr === 'pipe'
      ? spawn(node[0]!, node.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('sh', ['-c', `exec "$@" 2>${stderr}`, 'sh', ...node], { stdio: ['ignore', 'pipe', 'ignore'] })
  }

  it.each(['/dev/full', '&-'])('neither ends nor stalls a program (%s)', async (target) => {
    const [code] = await once(run(target), 'exit')
    expect(code).toBe(7)
  })

  it('neither ends nor stalls a program when its reader disconnects, or never reads', async () => {
    const left = run('pipe')
    left.stderr!.destroy()
    const silent = run('pipe')
    silent.stderr!.pause()
    const codes = await Promise.all([once(left, 'exit'), once(silent, 'exit')])
    expect(codes.map(([code]) => code)).toEqual([7, 7])
  })
})

it('reports dropped lines with a message of its own', () => {
  expect(droppedMessage).toBe('log lines were dropped')
})
