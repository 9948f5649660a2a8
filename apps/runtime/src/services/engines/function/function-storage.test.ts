import { readFileSync } from 'node:fs'
import { File } from '@bjorn3/browser_wasi_shim'
import { describe, expect, it } from 'vitest'
import { fc } from '../../../../../../tests/harness/properties.ts'
import type { StorageChange } from './control.ts'
import { encodeFrame, maxPayload } from './frames.ts'
import { createStorage } from './platform/storage.ts'
import { hostWasm } from './platform/wasm.ts'
import { openFiles } from './platform/wasm-files.ts'
import { maxItems } from './storage-change.ts'

const quota = 8 * 1024 * 1024

/** A storage with its changes in a map. */
function open(limit = quota, mayWrite = true) {
  const disk = new Map<string, string>()
  const changes: StorageChange[] = []
  const write = async (change: StorageChange) => {
    changes.push(change)
    if ('set' in change) for (const [key, value] of change.set) disk.set(key, value)
    else if ('remove' in change) for (const key of change.remove) disk.delete(key)
    else disk.set(change.setLong, Buffer.from(change.value).toString())
  }
  const failures: unknown[] = []
  const held = createStorage(limit, write, (cause) => failures.push(cause))
  if (mayWrite) held.setMayWrite(true)
  return { disk, changes, failures, held, storage: held.storage }
}

describe('the storage of a function', () => {
  const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', '\0', '')
  const value = fc.oneof(
    fc.string(),
    fc.integer({ min: 0, max: 60_000 }).map((length) => '\u0001'.repeat(length)),
  )
  const step = fc.oneof(
    fc.record({ verb: fc.constant('set' as const), key, value }),
    fc.record({ verb: fc.constant('remove' as const), key, value }),
    fc.record({ verb: fc.constant('wait' as const), key, value }),
  )

  it('stores what a map would hold, in changes that fit into a frame', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { disk, changes, held, storage } = open()
        const model = new Map<string, string>()
        for (const { verb, key, value } of steps) {
          if (verb === 'wait') await held.settled()
          else if (verb === 'set') {
            storage.setItem(key, value)
            model.set(key, value)
          } else {
            storage.removeItem(key)
            model.delete(key)
          }
        }
        for (const [key, value] of model) expect(storage.getItem(key)).toBe(value)
        await held.settled()
        expect(disk).toEqual(model)
        for (const change of changes) {
          if ('setLong' in change) continue
          const message = encodeFrame('message', Buffer.from(JSON.stringify({ ...change, ask: 1 })))
          expect(message.length).toBeLessThanOrEqual(maxPayload)
        }
      }),
    )
  })

  it('cuts many items into changes of a limited number', async () => {
    const { changes, disk, held, storage } = open()
    for (let at = 0; at < 5000; at++) storage.setItem(`key ${at}`, 'value')
    await held.settled()
    expect(disk.size).toBe(5000)
    for (const change of changes) expect('set' in change && change.set.length).toBeLessThanOrEqual(maxItems)
  })

  it('sends what shrinks before what grows, so that the quota is never passed on the way', async () => {
    const { changes, held, storage } = open(2000)
    storage.setItem('old', 'x'.repeat(1500))
    await held.settled()
    storage.setItem('old', '')
    storage.setItem('new', 'x'.repeat(1500))
    storage.setItem('old', 'y')
    await held.settled()
    expect(changes.slice(1)).toEqual([
      {
        set: [
          ['old', 'y'],
          ['new', 'x'.repeat(1500)],
        ],
      },
    ])
  })

  it('shows before its turn what it wrote to itself alone, and begins its turn with what is stored', async () => {
    const { disk, held, storage } = open(quota, false)
    held.apply({ set: [['a', 'stored']] })
    storage.setItem('a', 'draft')
    storage.setItem('b', 'draft')
    held.apply({
      set: [
        ['a', 'newer'],
        ['c', 'newer'],
      ],
    })
    expect(['a', 'b', 'c'].map(storage.getItem)).toEqual(['draft', 'draft', 'newer'])
    expect(held.settled()).toBeUndefined()
    held.setMayWrite(true)
    expect(['a', 'b', 'c'].map(storage.getItem)).toEqual(['newer', null, 'newer'])
    storage.setItem('b', 'own')
    await held.settled()
    expect(disk).toEqual(new Map([['b', 'own']]))
  })

  it('may only be read after its turn, and shows what the next instance writes', async () => {
    const { disk, held, storage } = open()
    storage.setItem('a', 'own')
    held.setMayWrite(false)
    await held.settled()
    expect(disk).toEqual(new Map([['a', 'own']]))
    expect(() => storage.setItem('a', 'late')).toThrow(/another revision .* has taken over/)
    expect(() => storage.removeItem('a')).toThrow(/another revision/)
    held.apply({ set: [['a', 'next']] })
    expect(storage.getItem('a')).toBe('next')
    held.setMayWrite(true)
    storage.setItem('a', 'again')
    await held.settled()
    expect(disk).toEqual(new Map([['a', 'again']]))
  })
})

describe('tags and loops', () => {
  it('stores a tag with its item, long values included, until another one is set', async () => {
    const { changes, held, storage } = open()
    storage.setItemWithTag('a', '1', 'red')
    storage.setItemWithTag('b', 'x'.repeat(100_000), 'red')
    storage.setItem('a', '2')
    await held.settled()
    storage.updateTag('a', 'blue')
    storage.setItemWithTag('b', 'short', '')
    await held.settled()
    expect(changes).toEqual([
      { set: [['a', '2', 'red']] },
      { setLong: 'b', tag: 'red', value: new Uint8Array(Buffer.alloc(100_000, 'x')) },
      {
        set: [
          ['b', 'short'],
          ['a', '2', 'blue'],
        ],
      },
    ])
    expect(storage.updateTag('unknown', 'red')).toBe(false)
    expect(storage.getItem('unknown')).toBeNull()
  })

  it('visits and removes the items with a tag, and no others', async () => {
    const { disk, held, storage } = open()
    for (const [key, tag] of [
      ['a', 'red'],
      ['b', 'blue'],
      ['c', 'red'],
    ] as const)
      storage.setItemWithTag(key, key.toUpperCase(), tag)
    storage.setItem('plain', 'P')
    const seen: string[] = []
    storage.eachItemByTag('red', (key, value) => void seen.push(key + value))
    expect(seen).toEqual(['aA', 'cC'])
    expect(storage.deleteItemsByTag('red')).toBe(2)
    expect(storage.deleteItemsByTag('red')).toBe(0)
    expect(storage.removeItemsByTag('')).toBe(0)
    await held.settled()
    expect([...disk.keys()].sort()).toEqual(['b', 'plain'])
  })

  it('ends a loop at false and at nothing else, and visits what was there at its beginning', () => {
    const { storage } = open()
    for (const key of ['a', 'b', 'c']) storage.setItemWithTag(key, '', 'tag')
    const visited = (each: (visit: (key: string) => unknown) => void, answer: (key: string) => unknown) => {
      const seen: string[] = []
      each((key) => {
        seen.push(key)
        storage.setItemWithTag(`${key}${key}`, '', 'tag')
        return answer(key)
      })
      return seen.join()
    }
    expect(visited(storage.eachItem, (key) => key !== 'b')).toBe('a,b')
    expect(visited(storage.eachItem, () => undefined)).toBe('a,b,c,aa,bb')
    storage.deleteItemsByTag('tag')
    for (const key of ['a', 'b', 'c']) storage.setItemWithTag(key, '', 'tag')
    expect(
      visited(
        (visit) => storage.eachItemByTag('tag', visit),
        () => false,
      ),
    ).toBe('a')
    expect(() =>
      storage.eachItem(() => {
        throw new Error('of the callback')
      }),
    ).toThrow('of the callback')
  })

  it('counts tags for the quota, and refuses one that is too long', async () => {
    const { held, storage, disk } = open(300)
    storage.setItemWithTag('a', 'v', 't'.repeat(200))
    expect(() => storage.setItemWithTag('a', 'v', 't'.repeat(256))).toThrow(/storage is full/)
    expect(() => storage.setItemWithTag('b', 'v', '')).toThrow(/storage is full/)
    expect(() => storage.setItemWithTag('a', 'v', '€'.repeat(86))).toThrow(
      /may have 256 bytes; this one has 258/,
    )
    expect(() => storage.updateTag('a', '€'.repeat(86))).toThrow(/256 bytes/)
    await held.settled()
    expect([...disk.keys()]).toEqual(['a'])
  })

  it('keeps files apart from items', async () => {
    const { held, storage } = open()
    storage.setItem('name', 'item')
    held.files.write('name', 'ZmlsZQ==')
    expect([storage.getItem('name'), held.files.read('name')]).toEqual(['item', 'ZmlsZQ=='])
    const keys: string[] = []
    storage.eachItem((key) => void keys.push(key))
    storage.eachItemByTag('', (key) => void keys.push(key))
    expect(keys).toEqual(['name', 'name'])
    expect([held.files.remove('name'), held.files.remove('name'), held.files.read('name')]).toEqual([
      true,
      false,
      null,
    ])
  })
})

it('no key that a caller chooses reaches the files of a service', () => {
  const { held, storage } = open()
  held.files.write('secret', 'Zm9v')
  const key = '\0file:secret'
  for (const use of [
    () => storage.getItem(key),
    () => storage.setItem(key, 'x'),
    () => storage.setItemWithTag(key, 'x', 't'),
    () => storage.updateTag(key, 't'),
    () => storage.removeItem(key),
  ])
    expect(use).toThrow('may not begin with')
  expect(held.files.read('secret')).toBe('Zm9v')
})

describe('the files of a WASM program', () => {
  it('are the items, and only those are written back that it changed', async () => {
    const { changes, held, storage } = open()
    for (const name of ['x', 'y', 'z']) storage.setItem(name, '0')
    await held.settled()
    const files = new Map<string, File>()
    const writeBack = openFiles(storage, files)
    files.get('x')!.data = Buffer.from('1')
    files.delete('z')
    files.set('new', new File(Buffer.from('2')))
    writeBack()
    await held.settled()
    expect(['x', 'y', 'z', 'new'].map(storage.getItem)).toEqual(['1', '0', null, '2'])
    expect(JSON.stringify(changes.slice(1))).not.toContain('"y"')
  })

  it('are those of one request at a time: each of many at once counts', async () => {
    const { storage } = open()
    const wasm = readFileSync(
      new URL('../../../../../../tests/system/services/counter.wasm', import.meta.url),
    )
    const around = { env: {}, info: { serviceType: 'counter' }, storage } as never
    const serve = await hostWasm(new Uint8Array(wasm), around)
    const ask = async () => (await serve(new Request('http://localhost/', { method: 'POST' }))).text()
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    expect(answers.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
  })
})
