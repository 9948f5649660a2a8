/** Work under way is counted by `service-kit/work` alone, which counts each piece down exactly once. */
import { describe, expect, it } from 'vitest'
import { parseSource, readSources } from './sources.ts'
import { findCounts } from './work-counts.ts'

/** Numbers that go up and down and are no count of work that others end, or why they cannot use it. */
const exceptions: Readonly<Record<string, string>> = {
  'packages/service-kit/src/work/work-count.ts underWay': 'the mechanism itself',
  'packages/service-kit/src/metrics/http-requests.ts count':
    'one object a request would cost 4 µs; the end of the connection lowers it by what is left',
  'packages/service-kit/src/metrics/http-requests.ts active': 'the same, of all connections',
  'packages/protocol/src/tokens/used-proofs.ts #perOwner': 'a proof ends with its time, and in no other way',
  'apps/cli/src/archive/component/host/outgoing.ts count': 'requests of a component, in its sandbox',
  'apps/cli/src/archive/component/host/worker.ts free': 'instances of a component, in its sandbox',
  'apps/discovery/src/index/grid.ts #count': 'entries of the grid: it is its size',
  'apps/discovery/src/stores/embedded/columns.ts number': 'nodes of an account: it is its size',
  'apps/runtime/src/services/engines/function/platform/servers/offer.ts _connections':
    '`close` of a server of Node.js waits for it; in the sandbox of the function',
  'apps/runtime/src/services/engines/function/platform/files/tree.ts nodes':
    'files of a function: it is their number',
  'apps/runtime/src/services/engines/function/platform/files/descriptors.ts opens':
    'descriptors of one file of a function, in its sandbox',
  'apps/console/src/parts/map/date-line.ts turns': 'turns around the globe',
  'apps/simulator/src/drive.ts under': 'the simulator counts its own requests',
  'apps/simulator/src/wire.ts open': 'the simulator counts its own connections',
}

it('no other code counts work under way', () => {
  const sources = readSources('packages', 'apps').filter(({ path }) => !path.includes('/testing/'))
  const found = sources.flatMap((source) =>
    findCounts(source).map((each) => ({ place: each, name: `${source.path} ${each.split(' ')[1]}` })),
  )
  const names = new Set(found.map(({ name }) => name))
  expect(found.filter(({ name }) => !Object.hasOwn(exceptions, name)).map(({ place }) => place)).toEqual([])
  expect(Object.keys(exceptions).filter((name) => !names.has(name))).toEqual([])
})

describe('the rule', () => {
  it.each([
    'let all = 0\nexport const begin = () => { all++; return () => { all-- } }',
    'let all = 0\nexport const begin = () => { all += 1; return () => { all -= 1 } }',
    'function f() { let all = 0; return async (work) => { all++; try { await work() } finally { all-- } } }',
    'class A { #all = 0; begin() { this.#all++ } end() { this.#all-- } }',
    'const begin = (running) => { running.requests++; return () => running.requests-- }',
    'const m = new Map(); const f = (key) => { m.set(key, (m.get(key) ?? 0) + 1); return () => { const left = m.get(key)! - 1 } }',
  ])('finds %s', (code) => {
    expect(findCounts(parseSource('example.ts', code))).toHaveLength(1)
  })

  it.each([
    'for (let at = 0; at < 5; at++) use(at)',
    'function f(text) { let depth = 0; for (const each of text) { if (each === "(") depth++; else depth-- } }',
    'let total = 0\nexport const note = () => total++',
    'const f = (left) => { while (left-- > 0) left++ }',
  ])('accepts %s', (code) => {
    expect(findCounts(parseSource('example.ts', code))).toEqual([])
  })
})
