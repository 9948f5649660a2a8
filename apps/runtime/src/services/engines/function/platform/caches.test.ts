import { describe, expect, it } from 'vitest'
import { cacheLimits, createCaches } from './caches.ts'

const url = 'https://example.com/a'
const text = async (found: Response | undefined) => found?.text()
const sized = (bytes: number) => new Response(new Uint8Array(bytes))

describe('caches.default', () => {
  it('answers with what was stored, as often as asked, and with undefined for anything else', async () => {
    const cache = createCaches().default
    const response = new Response('stored', { status: 404, statusText: 'Gone', headers: { 'X-Own': '1' } })
    await cache.put(url, response)
    for (let asked = 0; asked < 2; asked++) {
      const found = (await cache.match(new Request(`${url}#fragment`)))!
      expect([found.status, found.statusText, found.headers.get('x-own')]).toEqual([404, 'Gone', '1'])
      expect(await found.text()).toBe('stored')
    }
    expect(await cache.match(`${url}?b`)).toBeUndefined()
    expect(await cache.match('https://example.org/a')).toBeUndefined()
  })

  it('a caller that changes the bytes of an answer does not change what is stored', async () => {
    const cache = createCaches().default
    await cache.put(url, new Response('stored'))
    new Uint8Array(await (await cache.match(url))!.arrayBuffer()).fill(0)
    expect(await text(await cache.match(url))).toBe('stored')
  })

  it('is for GET; ignoreMethod finds the response for another method', async () => {
    const cache = createCaches().default
    await cache.put(url, new Response('stored'))
    const post = new Request(url, { method: 'POST', body: 'x' })
    expect(await cache.match(post)).toBeUndefined()
    expect(await text(await cache.match(post, { ignoreMethod: true }))).toBe('stored')
    expect(await cache.delete(post)).toBe(false)
    expect(await cache.delete(post, { ignoreMethod: true })).toBe(true)
    expect(await cache.delete(url)).toBe(false)
    expect(await cache.match(url)).toBeUndefined()
  })

  it('keeps responses without a body', async () => {
    const cache = createCaches().default
    await cache.put(url, new Response(null, { status: 204 }))
    expect((await cache.match(url))!.status).toBe(204)
  })

  it.each([
    ['s-maxage=20, max-age=5', undefined, 20],
    ['public, max-age=10', undefined, 10],
    ['MAX-AGE="7"', undefined, 7],
    ['', 'Thu, 01 Jan 1970 00:00:30 GMT', 30],
  ])('"%s" with Expires %s lasts %i seconds', async (control, expires, seconds) => {
    let now = 0
    const cache = createCaches(() => now).default
    const headers = { ...(control && { 'Cache-Control': control }), ...(expires && { Expires: expires }) }
    await cache.put(url, new Response('stored', { headers }))
    now = seconds * 1000 - 1
    expect(await text(await cache.match(url))).toBe('stored')
    now = seconds * 1000
    expect(await cache.match(url)).toBeUndefined()
  })

  it.each([
    { 'Cache-Control': 'no-store' },
    { 'Cache-Control': 'public, no-cache' },
    { 'Cache-Control': 'private="x", max-age=10' },
    { 'Cache-Control': 'max-age=0' },
    { 'Cache-Control': 'max-age=-1' },
    { 'Cache-Control': 'max-age=soon' },
    { 'Set-Cookie': 'a=b' },
    { Expires: '0' },
  ])('does not store a response with %j', async (headers) => {
    const cache = createCaches().default
    await cache.put(url, new Response('x', { headers: headers as Record<string, string> }))
    expect(await cache.match(url)).toBeUndefined()
  })

  it('refuses what the Cache API refuses, and stores nothing of it', async () => {
    const cache = createCaches().default
    const read = new Response('x')
    await read.text()
    const post = new Request(url, { method: 'POST' })
    await expect(cache.put(post, new Response('x'))).rejects.toThrow('the method is POST')
    await expect(cache.put(url, new Response('x', { status: 206 }))).rejects.toThrow('206')
    await expect(cache.put(url, new Response('x', { headers: { Vary: 'accept, *' } }))).rejects.toThrow(
      'Vary',
    )
    await expect(cache.put(url, read)).rejects.toThrow('clone()')
    expect(await cache.match(url)).toBeUndefined()
  })
})

describe('the limits of caches', () => {
  it('a response that is too large is not stored, and its body is not read further', async () => {
    const cache = createCaches().default
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(1024 * 1024))
      },
    })
    await cache.put(url, new Response(endless))
    expect(await cache.match(url)).toBeUndefined()
    expect(pulled).toBeLessThan(10)
    await cache.put(url, sized(cacheLimits.entryBytes))
    expect(await cache.match(url)).toBeDefined()
  })

  it('all responses together: the one that was not used for the longest time is dropped first', async () => {
    const cache = createCaches().default
    for (const name of ['a', 'b', 'c']) await cache.put(`${url}${name}`, sized(4_000_000))
    await cache.match(`${url}a`)
    for (const name of ['d', 'e']) await cache.put(`${url}${name}`, sized(4_000_000))
    const found = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => cache.match(`${url}${name}`)))
    expect(found.map(Boolean)).toEqual([true, false, true, true, true])
  })

  it('what is replaced, removed or expired needs no room', async () => {
    let now = 0
    const cache = createCaches(() => now).default
    for (let time = 0; time < 4; time++) {
      await cache.put(`${url}same`, sized(4_000_000))
      await cache.put(`${url}removed`, sized(4_000_000))
      await cache.delete(`${url}removed`)
      const headers = { 'Cache-Control': 'max-age=1' }
      await cache.put(`${url}expired`, new Response(new Uint8Array(4_000_000), { headers }))
      now += 1000
      await cache.match(`${url}expired`)
    }
    await cache.put(url, sized(4_000_000))
    await cache.put(`${url}2`, sized(4_000_000))
    for (const each of ['same', '', '2']) expect(await cache.match(`${url}${each}`)).toBeDefined()
  })

  it('number of responses', async () => {
    const cache = createCaches().default
    for (let at = 0; at <= cacheLimits.entries; at++) await cache.put(`${url}${at}`, new Response(null))
    expect(await cache.match(`${url}0`)).toBeUndefined()
    expect(await cache.match(`${url}1`)).toBeDefined()
  })

  it('names: each has its own responses, one too many is refused', async () => {
    const caches = createCaches()
    const [one, again, other] = [await caches.open('one'), await caches.open('one'), await caches.open('')]
    await one.put(url, new Response('of one'))
    expect(await text(await again.match(url))).toBe('of one')
    expect(await other.match(url)).toBeUndefined()
    expect(await caches.default.match(url)).toBeUndefined()
    for (let at = 2; at < cacheLimits.names; at++) await caches.open(`name ${at}`)
    await expect(caches.open('one too many')).rejects.toThrow('16 caches')
    expect(await caches.open('one')).toBeDefined()
  })
})
