/** The map for people who use a keyboard, want no motion, or have a browser without graphics. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { becomeOwner, findObstacles, openBrowser, type PersonAtBrowser } from '../../harness/person.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** Longitude and latitude. Turku and Helsinki are one mark on the map of all. */
const locations = {
  lisbon: [-9.14, 38.72],
  oslo: [10.75, 59.91],
  turku: [22.27, 60.45],
  helsinki: [24.94, 60.17],
} as const
type Name = keyof typeof locations
const names = Object.keys(locations) as Name[]
const nodeIdOf = (name: Name): string => names.indexOf(name).toString(16).padStart(56, '0')

/** The page of devices, in a browser with these flags. */
function useFleet(flags: readonly string[]) {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let identity: Program
  let person: PersonAtBrowser

  beforeAll(async () => {
    folder = await temporaryFolder()
    identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
    person = await openBrowser({ flags, map: true })
    const now = Math.floor(Date.now() / 1000)
    const places = names.map((name) => [nodeIdOf(name), ...locations[name], now, now + 1500])
    await person.page.route('**/console/places*', (route) => route.fulfill({ json: places }))
    await becomeOwner(person.page, identity.ready.setup!)
    addDevices(join(folder.path, 'identity', 'identity.db'))
  })
  afterAll(async () => {
    await person?.close()
    await identity?.stop()
    await folder?.remove()
  })
  beforeEach(async () => {
    await person.page.emulateMedia({ reducedMotion: 'reduce' })
    await person.page.goto(`${new URL(identity.ready.setup!).origin}/devices`)
    await row('oslo').waitFor()
  })

  const row = (name: Name) => person.page.getByRole('row').filter({ hasText: name })
  return {
    page: () => person.page,
    row,
    failure: () => person.page.locator('.map').getByRole('alert'),
    again: () => person.page.getByRole('button', { name: 'Try again' }).click(),
    /** Finds a device in the list, and opens its page. */
    async checkList(): Promise<void> {
      await person.page.getByLabel('Find a device').fill('turku')
      await person.page.getByText('1 device', { exact: true }).waitFor()
      await row('turku').getByRole('link', { name: 'turku' }).click()
      await person.page.getByRole('heading', { name: 'turku', level: 1 }).waitFor()
    },
  }
}

describe('the map in a browser without WebGL', needs('chromium-headless-shell'), () => {
  const { page, failure, again, checkList } = useFleet(['--disable-gpu', '--disable-3d-apis'])

  it('shows a message, and the list of devices works', async () => {
    await failure()
      .getByText('This browser can’t draw the map: it needs WebGL 2. All locations are in the lists.')
      .waitFor()
    await again()
    await failure().waitFor()
    expect(await findObstacles(page())).toEqual([])
    await checkList()
  })
})

describe('the map', needs('chromium-headless-shell'), () => {
  const { page, row, failure, again, checkList } = useFleet([])
  const world = () => page().locator('.map canvas')
  const marks = () => page().locator('.map .mark-at')
  const markOf = (name: Name) => page().locator(`.map a[href$="${nodeIdOf(name)}"]`)
  const cluster = () => page().getByRole('button', { name: /^2 devices/ })
  const press = (key: string) => page().keyboard.press(key)
  const button = (name: string) => page().getByRole('button', { name, exact: true })
  const focused = () => page().evaluate(() => document.activeElement?.getAttribute('aria-label'))
  const positionOf = async (name: Name) => (await markOf(name).boundingBox())!
  /** How many kilometres a pixel is, by the scale of the map. */
  const kmPerPx = () =>
    page()
      .locator('.map .maplibregl-ctrl-scale')
      .evaluate(
        (scale: HTMLElement) => Number.parseFloat(scale.textContent) / Number.parseFloat(scale.style.width),
      )
  const views = () => page().evaluate(() => (globalThis as unknown as { views: string[] }).views)
  const openMap = () => expect.poll(() => marks().count()).toBe(3)

  it('reports lost graphics, leaves the list as it is, and continues', async () => {
    for (let round = 0; round < 2; round++) {
      await openMap()
      await world().evaluate((canvas: HTMLCanvasElement) =>
        canvas.getContext('webgl2')!.getExtension('WEBGL_lose_context')!.loseContext(),
      )
      await failure().getByText('The browser stopped the map’s graphics').waitFor()
      expect(await marks().count()).toBe(0)
      await row('oslo').waitFor()
      expect(await findObstacles(page())).toEqual([])
      await again()
    }
    await openMap()
    expect(await failure().count()).toBe(0)
    await checkList()
  })

  it('moves by the arrow keys and zooms by plus and minus', async () => {
    await openMap()
    await world().focus()
    const start = await positionOf('oslo')
    await press('ArrowRight')
    await expect.poll(async () => (await positionOf('oslo')).x).toBeLessThan(start.x - 20)
    await press('ArrowLeft')
    await expect.poll(async () => (await positionOf('oslo')).x).toBeGreaterThan(start.x - 5)
    const { y } = await positionOf('lisbon')
    await press('ArrowDown')
    await expect.poll(async () => (await positionOf('lisbon')).y).toBeLessThan(y - 20)
    await press('ArrowUp')
    await expect.poll(async () => (await positionOf('lisbon')).y).toBeGreaterThan(y - 5)
    expect(await page().evaluate(() => scrollY)).toBe(0)
    const before = await kmPerPx()
    await press('-')
    await expect.poll(kmPerPx).toBeCloseTo(before * 2, 0)
    await press('+')
    await expect.poll(kmPerPx).toBeCloseTo(before, 0)
  })

  it('leads to each mark by Tab and the arrow keys, and Enter opens it', async () => {
    await openMap()
    await world().focus()
    await press('Tab')
    expect(await focused()).toBe('lisbon, online')
    await press('ArrowRight')
    expect(await focused()).toBe('oslo, online')
    await press('ArrowRight')
    expect(await focused()).toBe('2 devices: 2 online. Zoom in')
    // One Tab leaves all marks: the next stop is a button of the map.
    await press('Tab')
    expect(await focused()).toBe('Zoom in')
    await press('Shift+Tab')
    expect(await focused()).toBe('2 devices: 2 online. Zoom in')
    await press('Enter')
    await markOf('helsinki').waitFor()
    await markOf('turku').waitFor()
    // The mark with the focus is gone: the map has it, and Tab continues with a mark.
    expect(await focused()).toContain('Map. lisbon at')
    await press('Tab')
    expect(await focused()).toBe('turku, online')
    await press('ArrowLeft')
    expect(await focused()).toBe('helsinki, online')
    await press('Enter')
    await page().getByRole('heading', { name: 'helsinki', level: 1 }).waitFor()
  })

  it('jumps for a person who wants no motion', async () => {
    await openMap()
    const key = (name: string) => async () => {
      await world().focus()
      await press(name)
    }
    const actions: readonly (() => Promise<void>)[] = [
      key('ArrowRight'),
      key('-'),
      () => button('Zoom in').click(),
      () => button('Fit all devices').click(),
      () => cluster().click(),
    ]
    await page().evaluate(watchViews)
    for (const [index, act] of actions.entries()) {
      await act()
      await expect.poll(async () => (await views()).length).toBeGreaterThan(index + 1)
    }
    await markOf('turku').waitFor()
    expect(await views()).toHaveLength(actions.length + 1)
  })
})

function addDevices(file: string): void {
  const database = new DatabaseSync(file, { timeout: 30_000 })
  const { account_id: accountId } = database.prepare('SELECT account_id FROM accounts').get()!
  const insert = database.prepare(
    `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version)
      VALUES (?, ?, ?, '', '', '', 0, ?, '1.0.0')`,
  )
  for (const name of names) insert.run(nodeIdOf(name), name, accountId!, Date.now())
  database.close()
}

/** Notes each part of the world that the map shows, as its scale and the positions of its marks; runs in the page. */
function watchViews(): void {
  const map = document.querySelector('.map')!
  const scale = map.querySelector<HTMLElement>('.maplibregl-ctrl-scale')!
  const views: string[] = []
  const note = () => {
    const marks = [...map.querySelectorAll('.mark-at')].map((each) =>
      Math.round(each.getBoundingClientRect().x),
    )
    const view = [scale.textContent, scale.style.width, ...marks].join()
    if (view !== views.at(-1)) views.push(view)
  }
  note()
  new MutationObserver(note).observe(map, { subtree: true, childList: true, attributes: true })
  Object.assign(globalThis, { views })
}
