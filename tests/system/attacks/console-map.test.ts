/**
 * The servers that `console.mapStyle` names, turned hostile: whatever they send, nothing of it runs, no other server gets a request,
 * and the outlines and devices of the map stay.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createProject, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  becomeOwner,
  findObstacles,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface Foreign {
  readonly origin: string
  readonly asked: IncomingMessage[]
  /** Answers by the beginning of the path; without one, the connection is never answered. */
  answers: Record<string, Answer>
  close(): void
}

async function startForeign(): Promise<Foreign> {
  const asked: IncomingMessage[] = []
  const server: Server = createServer((request, response) => {
    asked.push(request)
    const path = Object.keys(foreign.answers).find((each) => request.url!.startsWith(each))
    response.setHeader('Access-Control-Allow-Origin', '*')
    if (path !== undefined) foreign.answers[path]!(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const foreign: Foreign = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers: {},
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return foreign
}

const send =
  (body: string | Buffer, type = 'application/json'): Answer =>
  (_, response) =>
    response.writeHead(200, { 'Content-Type': type }).end(body)
const json = (value: unknown): Answer => send(JSON.stringify(value))
const redirectTo =
  (location: string): Answer =>
  (_, response) =>
    response.writeHead(302, { Location: location }).end()
const endless =
  (part: Buffer): Answer =>
  (_, response) => {
    const write = () => {
      while (!response.destroyed && response.write(part));
    }
    response.on('drain', write)
    write()
  }
/** A PNG of one colour: 1 × 1 px, unless its header has another size. */
const png = (side = 1) => {
  const image = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )
  image.writeUInt32BE(side, 16)
  image.writeUInt32BE(side, 20)
  return image
}
/** A browser without a graphics card draws with the CPU: each look at the map costs, and fewer pixels cost less. */
const looking = { interval: 100 } as const
const viewport = { width: 400, height: 500 } as const
const page = '<!doctype html><script>document.title = "owned"</script>'

/** Part of the map that has the colour of land. */
async function landShare(tab: Page, theme: 'light' | 'dark' = 'light'): Promise<number> {
  const picture = await tab.locator('.map .world').screenshot()
  const land = theme === 'light' ? [226, 224, 215] : [35, 42, 57]
  return tab.evaluate(
    async ([base64, colour]) => {
      const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
      const bitmap = await createImageBitmap(new Blob([bytes]))
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')!
      canvas.drawImage(bitmap, 0, 0)
      const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height)
      let count = 0
      for (let at = 0; at < data.length; at += 4)
        if (colour.every((each, index) => Math.abs(each - data[at + index]!) < 3)) count++
      return count / (data.length / 4)
    },
    [picture.toString('base64'), land] as const,
  )
}

describe('the background of the map', needs('chromium-headless-shell'), () => {
  let stack: Stack
  let person: PersonAtBrowser
  let tab: Page
  let foreign: Foreign
  let tiles: Foreign
  /** A server that must get no request. */
  let elsewhere: Foreign

  beforeAll(async () => {
    ;[foreign, tiles, elsewhere] = await Promise.all([startForeign(), startForeign(), startForeign()])
    stack = await startStack({
      runtime: ['--name=weather-station-7'],
      identity: [
        `--console.mapStyle=${foreign.origin}/style.json?key=1`,
        `--console.mapHosts=${tiles.origin}`,
      ],
    })
    person = await openBrowser({ ...viewport, map: true })
    tab = person.page
    await becomeOwner(tab, stack.identity.ready.setup!)
    const token = await accessToken(stack, await createProject(stack.state, 'ada@example.com'))
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    await runtimeOf(stack).updateGps({
      ...{ edgeAccessToken: token, longitude: '10.5', latitude: '50.9', speed: '0', bearing: '0' },
    })
    await tab.goto(`${new URL(stack.identity.ready.setup!).origin}/projects`)
  })
  afterAll(async () => {
    await person?.close()
    for (const each of [foreign, tiles, elsewhere]) each?.close()
    await stack?.stop()
  })

  const styleOf = (style: object) => ({ version: 8, sources: {}, layers: [], ...style })
  const raster = (source: object) =>
    styleOf({
      sources: {
        tiles: { type: 'raster', tileSize: 256, tiles: [`${tiles.origin}/{z}/{x}/{y}.png`], ...source },
      },
      layers: [
        { id: 'sea', type: 'background', paint: { 'background-color': '#00f' } },
        { id: 'tiles', type: 'raster', source: 'tiles' },
      ],
    })
  const vector = () =>
    styleOf({
      sources: { tiles: { type: 'vector', tiles: [`${tiles.origin}/{z}/{x}/{y}.pbf`] } },
      layers: [
        { id: 'sea', type: 'background', paint: { 'background-color': '#00f' } },
        { id: 'water', type: 'fill', source: 'tiles', 'source-layer': 'water' },
      ],
    })
  /** Follows a link of the sidebar, which a narrow window hides. */
  const follow = (title: string) => tab.locator('.side nav a', { hasText: title }).dispatchEvent('click')
  /** The same page all the time: what one background has left behind there would meet the next one. */
  async function openMap(style: Answer, tile: Answer = send(png(), 'image/png')): Promise<void> {
    await follow('Projects')
    await tab.locator('.map').waitFor({ state: 'detached' })
    foreign.answers = { '/style.json': style }
    tiles.answers = { '/': tile }
    for (const each of [foreign, tiles, elsewhere]) each.asked.length = 0
    await follow('Devices')
    await tab.locator('.map .pin').waitFor()
  }
  const problem = async () => (await tab.locator('.map .over .badge.warn').allTextContents()).join()

  it('shows what the operator named, and widens the policy by its hosts alone', async () => {
    await openMap(json(raster({ attribution: '<img src=x onerror="document.title=1">&copy; <b>Maps</b>' })))
    await tab.getByText('© Maps', { exact: true }).waitFor()
    await expect.poll(() => tiles.asked.length).toBeGreaterThan(0)
    await expect.poll(() => landShare(tab), looking).toBeLessThan(0.01)
    expect(foreign.asked.map(({ url }) => url)).toEqual(['/style.json?key=1'])
    for (const { headers } of [...foreign.asked, ...tiles.asked]) {
      expect(headers).not.toHaveProperty('cookie')
      expect(headers).not.toHaveProperty('referer')
      expect(headers).not.toHaveProperty('dpop')
    }
    const { headers } = await fetch(`${new URL(stack.identity.ready.setup!).origin}/devices`)
    const policy = headers.get('content-security-policy')!.split('; ')
    expect(policy).toContain(`connect-src 'self' ${foreign.origin} ${tiles.origin}`)
    expect(policy.filter((each) => each.includes('http'))).toHaveLength(1)
    expect(await tab.locator('.map .over .badge.warn').count()).toBe(0)
    expect(await findObstacles(tab)).toEqual([])
    await takePictures(tab, 'map-background')
  })

  const bomb = png(60_000)
  const script = 'javascript:document.title="owned"//{z}/{x}/{y}'
  const away = () => `${elsewhere.origin}/{z}/{x}/{y}.png`
  const hostile: readonly (readonly [string, () => readonly [Answer, Answer?], string])[] = [
    ['a style without end', () => [endless(Buffer.alloc(65_536, ' '))], 'sends more than 1 MB'],
    ['a style of 2 MB', () => [json(styleOf({ x: 'x'.repeat(2_000_000) }))], 'sends more than 1 MB'],
    [
      'a style of 300,000 brackets',
      () => [send(`{"version":8,"sources":{},"layers":[],"x":${'['.repeat(300_000)}${']'.repeat(300_000)}}`)],
      'too large',
    ],
    ['a page in place of the style', () => [send(page, 'text/html')], 'not JSON'],
    ['a script in place of the style', () => [send('document.title="owned"', 'text/javascript')], 'not JSON'],
    ['an error', () => [(_, response) => response.writeHead(500).end(page)], 'status 500'],
    ['a redirect to another host', () => [redirectTo(`${elsewhere.origin}/style.json`)], 'does not answer'],
    ['tiles of another host', () => [json(raster({ tiles: [away()] }))], 'is not in console.mapHosts'],
    [
      'a list of tiles of another host',
      () => [json(raster({ tiles: undefined, url: `${elsewhere.origin}/t.json` }))],
      'is not in console.mapHosts',
    ],
    ['script in place of tiles', () => [json(raster({ tiles: [script] }))], 'names no web address'],
    [
      'data in place of tiles',
      () => [json(raster({ tiles: ['data:text/html,{z}/{x}/{y}'] }))],
      'names no web address',
    ],
    [
      'the console itself as tiles',
      () => [json(raster({ tiles: ['http://localhost/console/places?{z}/{x}/{y}'] }))],
      'is not in console.mapHosts',
    ],
    [
      'symbols and fonts of another host',
      () => [
        json({
          ...vector(),
          sprite: `${elsewhere.origin}/s`,
          glyphs: `${elsewhere.origin}/{fontstack}/{range}`,
        }),
        send(Buffer.alloc(0)),
      ],
      'is not in console.mapHosts',
    ],
    [
      'layers that are not layers',
      () => [
        json(
          styleOf({
            layers: [
              { id: 'a', type: 'script' },
              { id: '__proto__', type: 'fill', source: 'constructor' },
              {},
              { id: 'b', type: 'background', paint: { 'background-color': ['get', ['get']] } },
            ],
          }),
        ),
      ],
      'has an error',
    ],
    [
      'tiles without end',
      () => [json(raster({})), endless(Buffer.concat([png(), Buffer.alloc(65_536)]))],
      'sends more than 2 MB',
    ],
    [
      'pages in place of tiles',
      () => [json(raster({})), send(page, 'text/html')],
      'something else than small images',
    ],
    [
      'drawings with a script in place of tiles',
      () => [
        json(raster({})),
        send(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, 'image/svg+xml'),
      ],
      'something else than small images',
    ],
    [
      'images of 60,000 px',
      () => [json(raster({})), send(bomb, 'image/png')],
      'something else than small images',
    ],
    [
      'redirects of tiles to another host',
      () => [json(raster({})), redirectTo(`${elsewhere.origin}/1.png`)],
      'does not answer',
    ],
    [
      'noise in place of vector tiles',
      () => [json(vector()), send(Buffer.alloc(100_000, 0xff))],
      'has an error',
    ],
  ]
  it.each(hostile)('survives %s', async (_, answers, message) => {
    const [style, tile] = answers()
    await openMap(style, tile)
    await expect.poll(problem, looking).toContain(message)
    await expect.poll(() => landShare(tab), looking).toBeGreaterThan(0.1)
    await tab.locator('.map .pin').waitFor()
    expect(elsewhere.asked).toEqual([])
    expect(await tab.title()).toBe('Devices · Selvedge')
  })

  it('waits for no server: the map is there while the style is not', async () => {
    await openMap(() => undefined)
    await expect.poll(() => landShare(tab), looking).toBeGreaterThan(0.1)
  })
})
