/** A test waits for a state, never for a time, and with the default time limits: no slow machine makes it fail. */
import { describe, expect, it } from 'vitest'
import { findFixedWaits, findShortLimits } from './fixed-waits.ts'
import { fixedWaits } from './fixed-waits-table.ts'
import { parseSource, readTests } from './sources.ts'

const sources = readTests()

it('a test waits for a state, or has a reason to wait for a time', () => {
  expect(sources.length).toBeGreaterThan(300)
  const counts = sources.map((source) => [source.path, findFixedWaits(source)] as const)
  const others = counts.filter(([path, waits]) => waits.length !== (fixedWaits[path]?.[0] ?? 0))
  expect(others, 'poll for the state, or correct tests/rules/fixed-waits-table.ts').toEqual([])
  const paths = new Set(sources.map(({ path }) => path))
  expect(Object.keys(fixedWaits).filter((path) => !paths.has(path))).toEqual([])
})

it('no poll and no test has a time limit below the default', () => {
  // Stryker runs a test thousands of times, and again what reached a time limit.
  const others = sources.filter(({ path }) => path !== 'tests/mutation/vitest.config.ts')
  expect(others.flatMap(findShortLimits)).toEqual([])
})

describe('the rule', () => {
  const imported = "import { setTimeout as sleep } from 'node:timers/promises'\n"
  const inSource = <T>(find: (source: ReturnType<typeof parseSource>) => T, code: string) =>
    find(parseSource('example.ts', code))

  it.each([
    `${imported}await sleep(5)`,
    `${imported}const later = () => sleep(5)`,
    'await new Promise((resolve) => setTimeout(resolve, 5))',
    `${imported}for (const each of all) run(async () => { await sleep(5) })`,
  ])('finds the wait in %s', (code) => {
    expect(inSource(findFixedWaits, code)).toHaveLength(1)
  })

  it.each([
    `${imported}while (!isDone()) await sleep(5)`,
    `${imported}for (;;) { if (await isDone()) break; await sleep(5) }`,
    'setTimeout(() => stop(), 5)',
    'await expect.poll(isDone).toBe(true)',
  ])('accepts %s', (code) => {
    expect(inSource(findFixedWaits, code)).toEqual([])
  })

  it.each([
    ['expect.poll(f, { timeout: 5000 }).toBe(1)', '5000'],
    ['vi.waitFor(f)', '1000'],
    ['vi.waitUntil(f, { timeout: 20_000, interval: 5 })', '20000'],
    ["it('is', f, 5000)", '5000'],
    ["it.each(rows)('is', { timeout: 5000 }, f)", '5000'],
    ['beforeAll(f, 9000)', '9000'],
  ])('finds the limit of %s', (code, limit) => {
    expect(inSource(findShortLimits, code)).toEqual([`example.ts:1 ${limit}`])
  })

  it.each([
    'expect.poll(f).toBe(1)',
    'expect.poll(f, { timeout: 120_000, interval: 5 }).toBe(1)',
    'vi.waitFor(f, { timeout: 120_000 })',
    "it('is', f, 300_000)",
    "it('is', f)",
  ])('accepts the limit of %s', (code) => {
    expect(inSource(findShortLimits, code)).toEqual([])
  })
})
