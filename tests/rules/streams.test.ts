/**
 * Every stream of a daemon waits for its reader, or is bounded: the table lists the files that write to one, with the code that
 * bounds what waits, and the tests that open this stream with a reader that never reads.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { childOf, methodOf, nameOf, plain } from './bounds/bindings.ts'
import { nodesOf, parseSource, placeOf, readSources, type Source } from './sources.ts'
import { opensStream } from './streams/opened.ts'
import { streams } from './streams/table.ts'

/** What is written to is no stream: memory, a file of the state, the terminal at the start, a cookie. */
const noStreams = new Set([
  'decoder',
  'inner',
  'outer',
  'head',
  'handle',
  'stdout',
  'stderr',
  'cookie',
  'nodes',
  'storage',
])

/** Lines that write to a stream or connect two. */
function writesOf(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    if (node.type !== 'CallExpression') return []
    const callee = plain(childOf(node, 'callee')!)
    const method = methodOf(node)
    const object = callee.type === 'MemberExpression' ? plain(childOf(callee, 'object')!) : undefined
    const name = nameOf(object?.type === 'MemberExpression' ? childOf(object, 'property') : object)
    const isWrite =
      (/^(?:write|pipe|pipeTo)$/.test(method) && object !== undefined && !noStreams.has(name)) ||
      method === 'pipeline' ||
      (/^from(?:Web)?$/.test(method) && name === 'Readable')
    return isWrite ? [placeOf(source, node)] : []
  })
}

const daemons = ['apps/runtime', 'apps/identity', 'apps/discovery', 'apps/stack', 'packages/service-kit']
const sources = readSources(...daemons).filter(
  ({ path }) => !/\/testing\/|\/engines\/function\/platform\//.test(path),
)

describe('streams', () => {
  it('are listed with what bounds them', () => {
    const found = sources.filter(({ path }) => !streams[path]).flatMap(writesOf)
    expect(
      found.map((place) => `${place} writes to a stream: add its file to tests/rules/streams/table.ts`),
    ).toEqual([])
  })

  it.each(Object.entries(streams))('%s has its bound and tests that open it', (path, { bound, tests }) => {
    const source = sources.find((each) => each.path === path)
    expect(source && writesOf(source)).not.toEqual([])
    expect(source?.text.includes(bound), `${path} has no ${bound} any more`).toBe(true)
    const missing = tests.filter(
      ({ file, title }) =>
        !opensStream(parseSource(file, readFileSync(join(root, file), 'utf8')), title, path),
    )
    expect(missing).toEqual([])
    expect(tests).not.toEqual([])
  })

  it.each([
    [true, "it('holds', opens('a.ts'), async () => undefined)"],
    [true, "it.each(rows)('holds', { ...opens('b.ts', 'a.ts'), timeout: 9 }, async () => undefined)"],
    [true, "const rows = [{ what: 'holds', opens: 'a.ts' }]"],
    [false, "it('holds', opens('b.ts'), async () => undefined)"],
    [false, "it('holds', async () => opens('a.ts'))"],
    [false, "it('holds', () => undefined); it('other', opens('a.ts'), () => undefined)"],
    [false, "const rows = [{ what: 'holds', opens: 'b.ts' }, { what: 'other', opens: 'a.ts' }]"],
  ])('opening a.ts is %s of: %s', (expected, code) => {
    expect(opensStream(parseSource('example.test.ts', code), 'holds', 'a.ts')).toBe(expected)
  })

  it.each([
    ['socket.write(chunk)'],
    ['upstream.pipe(response)'],
    ['await pipeline(body, response)'],
    ['reply.send(Readable.from(rows))'],
    ['answer.body.pipeTo(writable)'],
  ])('finds %s', (code) => {
    expect(writesOf(parseSource('example.ts', code))).not.toEqual([])
  })
})
