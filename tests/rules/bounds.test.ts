/**
 * Nothing that others feed grows without a limit: the tables in `bounds/` list every map, set, list, queue, cache, table,
 * document, folder and engine object that lasts, with its limit and with what removes from it. What is found in the sources and
 * is not listed fails here, and so does an entry for what is gone.
 */
import { describe, expect, it } from 'vitest'
import type { Bound, Bounds } from './bounds/bound.ts'
import { findGrowth } from './bounds/growth.ts'
import { findStored } from './bounds/stored.ts'
import { discovery, identity } from './bounds/table-cloud.ts'
import { libraries, programs, serviceKit } from './bounds/table-libraries.ts'
import { runtime, sandbox } from './bounds/table-runtime.ts'
import { stored } from './bounds/table-stored.ts'
import { parseSource, readSources, type Source } from './sources.ts'

/** Fakes and servers that only tests start. */
const isOfTests = ({ path }: Source): boolean => path.includes('/testing/')

const sources = readSources('apps', 'packages').filter((each) => !isOfTests(each))
const tables = [runtime, sandbox, identity, discovery, stored, serviceKit, libraries, programs]
const listed: Bounds = Object.assign({}, ...tables)

const findAll = (source: Source) => [...findGrowth(source), ...findStored(source)]

/** What grows in a source and is not in the table. */
const unlisted = (source: Source, table: Bounds): string[] =>
  findAll(source)
    .filter(({ name }) => table[source.path]?.[name] === undefined)
    .map(
      ({ name, place }) =>
        `${place} "${name}" can grow and has no entry for ${source.path} in tests/rules/bounds: give its limit, and what removes from it`,
    )

const gone = (source: Source | undefined, path: string, table: Bounds): string[] => {
  const found = new Set(source ? findAll(source).map(({ name }) => name) : [])
  return Object.keys(table[path]!)
    .filter((name) => !found.has(name))
    .map((name) => `${path} has no "${name}" that grows: remove its entry from tests/rules/bounds`)
}

/** Code in backquotes must stand in the file of the entry, or in the file that is named in front of it. */
function unproved(path: string, name: string, text: string): string[] {
  const pieces = [...text.matchAll(/`(?:([\w-]+\.ts): )?([^`]+)`/g)]
  return pieces
    .filter(([, file, code]) => {
      const places = sources.filter((each) => (file ? each.path.endsWith(`/${file}`) : each.path === path))
      return !places.some((each) => each.text.includes(code!))
    })
    .map(([piece]) => `${path} "${name}": its entry names ${piece}, which is not there`)
}

function problemsOf(path: string, name: string, bound: Bound): string[] {
  if (bound.kind === 'own') return []
  const texts = bound.kind === 'lasting' ? [bound.limit, bound.removed] : [bound.limit]
  const isVague = !texts.some((each) => each.includes('`'))
  return [
    ...(isVague ? [`${path} "${name}": its entry names no code that limits it`] : []),
    ...texts.flatMap((each) => unproved(path, name, each)),
  ]
}

describe('what others can make grow', () => {
  it('is listed with its limit', () => {
    expect(sources.flatMap((each) => unlisted(each, listed))).toEqual([])
  })

  it('is there, if it is listed', () => {
    const byPath = new Map(sources.map((each) => [each.path, each]))
    expect(Object.keys(listed).flatMap((path) => gone(byPath.get(path), path, listed))).toEqual([])
  })

  it('is listed once', () => {
    const paths = tables.flatMap((each) => Object.keys(each))
    expect(paths.filter((path, at) => paths.indexOf(path) !== at)).toEqual([])
  })

  it('has the limit that its entry names', () => {
    const problems = Object.entries(listed).flatMap(([path, entries]) =>
      Object.entries(entries).flatMap(([name, bound]) => problemsOf(path, name, bound)),
    )
    expect(problems).toEqual([])
  })
})

const unlistedIn = (code: string) => unlisted(parseSource('example.ts', code), {})

describe('the rule', () => {
  it('says where, what and what to do', () => {
    const code =
      'export function createCache() {\n  const seen = new Map()\n  return (key) => seen.set(key, 1)\n}'
    expect(unlistedIn(code)).toContain(
      'example.ts:3 "createCache.seen" can grow and has no entry for example.ts in tests/rules/bounds: give its limit, and what removes from it',
    )
  })

  it.each([
    ['a module’s map', 'const seen = new Map(); export const note = (key) => seen.set(key, 1)'],
    ['a field', 'class A { #seen = new Set(); note(key) { this.#seen.add(key) } }'],
    ['a field that nothing fills yet', 'class A { readonly seen = new Map() }'],
    [
      'a list of a closure',
      'function open(socket) { const all = []; socket.on("data", (each) => all.push(each)) }',
    ],
    [
      'a list that is filled by its index',
      'function open() { const all = []; return (each) => { all[all.length] = each } }',
    ],
    [
      'a list that is replaced by a longer one',
      'function open() { let all = []; return (each) => { all = [...all, each] } }',
    ],
    [
      'an object that serves as a map',
      'function open() { const all = {}; return (key) => { all[key] = 1 } }',
    ],
    [
      'an object that is replaced',
      'let all = {}; export const note = (key) => { all = { ...all, [key]: 1 } }',
    ],
    ['a text', 'function open(socket) { let text = ""; socket.on("data", (more) => { text += more }) }'],
    [
      'a text that is carried on',
      'async function read(body) { let rest = ""; for await (const more of body) { const lines = (rest + more).split(","); rest = lines.pop() } }',
    ],
    [
      'a buffer',
      'function open(socket) { let all = Buffer.alloc(0); socket.on("data", (more) => { all = Buffer.concat([all, more]) }) }',
    ],
    [
      'a chain of promises',
      'function open() { let last = Promise.resolve(); return (work) => { last = last.then(work) } }',
    ],
    [
      'a queue of promises',
      'function open() { let last = Promise.resolve(); return (work) => { const mine = last.then(work); last = mine.catch(() => 0); return mine } }',
    ],
    [
      'what a loop collects from a stream',
      'async function read(body) { const all = []; for await (const each of body) all.push(each) }',
    ],
    [
      'what a loop collects as long as something comes',
      'async function read(next) { const all = []; while (true) all.push(await next()) }',
    ],
    [
      'a list in an entry of another one',
      'const byKey = new WeakMap(); export const note = (key, each) => byKey.get(key).push(each)',
    ],
    ['a list under another name', 'function f(entry, each) { const all = entry.waiting; all.push(each) }'],
    [
      'a list that is created if it is missing',
      'function f(map, key, each) { const all = map.get(key) ?? []; all.push(each) }',
    ],
    ['a list that another function created', 'function keep(all, each) { all.push(each) }'],
    ['an imported map', 'import { seen } from "./seen.ts"; export const note = (key) => seen.set(key, 1)'],
    ['a table', 'export const schema = `CREATE TABLE seen (key TEXT)`'],
    [
      'a file',
      'import { writeFileSync } from "node:fs"; export const note = (path) => writeFileSync(path, "")',
    ],
    [
      'a file that is opened to be written',
      'export const note = (path) => open(path, "a")'.replaceAll('"', "'"),
    ],
    ['a document', 'const store = await openDocument(join(folder, "seen"), {}, read)'],
    ['an answer that is read whole', 'const ask = async (url) => (await fetch(url)).json()'],
    ['lines of any length', 'const lines = createInterface({ input: socket })'],
    ['a network of an engine', 'const make = (api, body) => api.send("POST", "/networks/create", body)'],
  ])('finds %s', (_, code) => {
    expect(unlistedIn(code)).not.toEqual([])
  })

  it.each([
    [
      'what a function makes and fills',
      'function f(list) { const all = []; for (const each of list) all.push(each); return all }',
    ],
    [
      'what a callback fills before its caller goes on',
      'function f(list) { const all = new Set(); list.forEach((each) => all.add(each)); return all }',
    ],
    [
      'what a loop makes in each turn',
      'async function f(body) { for await (const part of body) { const all = []; all.push(part) } }',
    ],
    [
      'a table of constants',
      'const known = new Set(["a", "b"]); export const isKnown = (each) => known.has(each)',
    ],
    ['a sum', 'let sum = 0; export const add = (each) => { sum += each }'],
    [
      'memory of a fixed size',
      'const bytes = new Uint8Array(64); export const put = (at, each) => { bytes[at] = each }',
    ],
    [
      'what is cleared with its key',
      'const seen = new WeakMap(); export const note = (key) => seen.set(key, 1)',
    ],
    ['a dropped table', 'export const schema = [`CREATE TABLE old (key TEXT)`, `DROP TABLE old`]'],
  ])('leaves alone %s', (_, code) => {
    expect(unlistedIn(code)).toEqual([])
  })

  it('wants code as evidence of a limit', () => {
    const { path, text } = sources.find((each) => each.path.endsWith('/limiter.ts'))!
    expect(text).toContain('remembered')
    const problems = (limit: string) => problemsOf(path, 'a', { kind: 'passing', limit })
    expect(problems('`remembered`')).toEqual([])
    expect(problems('`guard.ts: createGuard`')).toEqual([])
    expect(problems('few')).toHaveLength(1)
    expect(problems('`forgotten`')).toHaveLength(1)
    expect(problems('`guard.ts: forgotten`')).toHaveLength(1)
  })
})
