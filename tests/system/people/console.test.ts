/** The console as a person meets it, from the first start to a device that is shut out again. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  layoutShift,
  loadedFiles,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { root, type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'

const run = promisify(execFile)

/** Cumulative layout shift of a page while it loads. */
const maxShift = 0.05
/** Bytes of scripts and styles that a page loads first, gzipped; with a map, without those of the map. */
const maxWeight = { plain: 30_000, withMap: 32_000 }

/** @param paths of the files that a page has loaded */
function weightOf(paths: readonly string[]): number {
  const built = join(root, 'apps/identity/dist/console')
  const counted = paths.filter(
    (path) => /\.(?:js|css)$/.test(path) && !/world-map|maplibre|worker/.test(path),
  )
  const sizes = counted.map((path) => gzipSync(readFileSync(join(built, path)), { level: 9 }).length)
  return sizes.reduce((sum, each) => sum + each, 0)
}

/** Milliseconds without a request after which a page has what it needs. */
const quietMs = 150

describe('the console', needs('chromium-headless-shell'), () => {
  let stack: Stack
  let person: PersonAtBrowser
  let page: Page
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let token: string
  let nodeId: string
  let projectPath: string
  /** Requests that have no answer yet, but for those of event streams, which last. */
  const underWay = new Set<Request>()
  let changedAt = 0

  beforeAll(async () => {
    stack = await startStack({ runtime: ['--revocations.interval=1', '--name=weather-station-7'] })
    folder = await temporaryFolder()
    person = await openBrowser({ map: true })
    page = person.page
    page.on('request', (request) => {
      changedAt = performance.now()
      if (!request.url().endsWith('/console/events')) underWay.add(request)
    })
    const end = (request: Request) => {
      changedAt = performance.now()
      underWay.delete(request)
    }
    page.on('requestfinished', end).on('requestfailed', end)
    nodeId = (await runtimeOf(stack).getMe()).nodeId
  })
  afterAll(async () => {
    await person.close()
    await stack.stop()
    await folder.remove()
  })

  const origin = () => new URL(stack.identity.ready.setup!).origin
  /** Runs lines in a shell, unchanged. */
  const shell = (lines: string) => run('bash', ['-e', '-o', 'pipefail', '-c', lines], { cwd: folder.path })
  const textOf = (label: string) =>
    page.getByRole('region', { name: label, exact: true }).locator('pre').textContent().then(String)
  const copied = () =>
    page.evaluate(() =>
      (
        globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }
      ).navigator.clipboard.readText(),
    )
  /** The text of the map, for people who do not see it. */
  const mapText = () => page.locator('.map canvas').getAttribute('aria-label')
  const settled = async (path: string, heading: string | RegExp) => {
    await page.goto(origin() + path)
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    await expect.poll(() => underWay.size === 0 && performance.now() - changedAt > quietMs).toBe(true)
  }

  it('shows where the link for the first owner is, with the whole command beside its button', async () => {
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${origin()}/`)
      await page.getByRole('heading', { name: 'Finish the setup', level: 1 }).waitFor()
      expect(await textOf('Command that prints the link')).toBe('sudo selvedge-admin account link')
      expect(await page.evaluate(findOverflow)).toEqual([])
    }
  })

  it('lets the first owner in by the link of the start, with a passkey', async () => {
    await becomeOwner(page, stack.identity.ready.setup!)
    await page.getByText('No devices yet').waitFor()
    expect(page.url()).toBe(`${origin()}/`)
  })

  it('signs in by passkey, where the person wanted to go', async () => {
    await page.locator('summary', { hasText: 'ada@example.com' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
    await takePictures(page, 'sign-in')
    await page.locator('summary', { hasText: 'sign in' }).click()
    await page.setViewportSize({ width: 390, height: 900 })
    await textOf('Command that makes a sign-in link')
    expect(await page.evaluate(findOverflow)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`${origin()}/projects`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor()
  })

  it('makes a project', async () => {
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Weather stations')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('heading', { name: 'Weather stations' }).waitFor()
    projectPath = new URL(page.url()).pathname
    await page.getByRole('button', { name: 'Copy: Client ID' }).click()
    expect(await copied()).toBe(projectPath.split('/')[2])
  })

  it('makes a developer ID token, shown once, with commands that work without changes', async () => {
    await page.getByRole('button', { name: 'Create developer token' }).click()
    await page.getByRole('heading', { name: 'Your developer token' }).waitFor()
    await takePictures(page, 'token')
    expect(await page.evaluate(findOverflow)).toEqual([])
    await page.getByRole('button', { name: 'Copy: Developer token', exact: true }).click()
    const token = await copied()
    expect(token).toBe(await textOf('Developer token'))
    await shell(await textOf('Command that saves the token'))
    expect(readFileSync(join(folder.path, 'developer.token'), 'utf8')).toBe(token)
    expect(await textOf('Command that uses the token')).toContain(
      'selvedge account associate --developer-token-file developer.token',
    )
    await page.getByRole('button', { name: 'Done' }).click()
    await expect.poll(() => page.content()).not.toContain(token)
  })

  it('the lines of the project page bring the device to the account and to the map', async () => {
    const devices = await person.context.newPage()
    await devices.goto(`${origin()}/devices`)
    await devices.getByText('No devices yet').waitFor()

    const clientId = projectPath.split('/')[2]
    expect(await textOf('Commands: Install the runtime')).toBe('sudo apt install ./selvedge_*.deb')
    expect(await textOf('Commands: Sign in and connect')).toContain(
      `sudo selvedge up --client-id ${clientId}`,
    )
    await page.getByText('Waiting for a new device.').waitFor()
    await page.getByRole('button', { name: 'curl' }).click()
    await page.getByLabel('Runtime address').fill(stack.runtime.url)
    const { stdout } = await shell(await textOf('Commands of the whole flow'))
    expect(stdout).toContain('"accountId"')
    expect(stdout).toContain('"status":"ok"')
    token = readFileSync(join(folder.path, 'access.token'), 'utf8')

    // On the page that was open all the time, without a reload.
    await devices.locator(`tr[data-node="${nodeId}"]`).waitFor()
    await devices.locator(`.map .pin[data-node="${nodeId}"]`).waitFor()
    await devices.getByText('49.2500, -123.1150').waitFor()
    await devices.close()
    // The steps that have happened are marked: installed, connected and located, but not deployed.
    await page.getByRole('button', { name: 'Debian package' }).click()
    await page.getByText('is connected.').waitFor()
    expect(await page.locator('.steps .n.good-text').count()).toBe(3)
  })

  it('a device that reports moves on the map without a reload', async () => {
    await settled('/devices', 'Devices')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator(`.map .pin[data-node="${nodeId}"]`).waitFor()
    expect(await mapText()).toBe('Map. weather-station-7 at 49.25, -123.11')
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }))
    await runtimeOf(stack).updateGps({
      edgeAccessToken: token,
      longitude: '13.4',
      latitude: '52.5',
      speed: '3',
      bearing: '90',
    })
    await page.getByText('52.5000, 13.4000').waitFor()
    await expect.poll(mapText).toBe('Map. weather-station-7 at 52.50, 13.40')
    await page.locator(`.map .pin[data-node="${nodeId}"]`).waitFor()
    expect(await page.evaluate(() => (globalThis as unknown as { untouched?: boolean }).untouched)).toBe(true)
  })

  it('a fleet of 100,000 is a few hundred crowds on the map, and comes apart where one comes closer', async () => {
    const fleet = Array.from({ length: 100_000 }, (_, index) => {
      const angle = index * 2.399963
      const place = [Math.sin(angle) * 170, Math.sin(index * 0.7853) * 70]
      const now = Math.floor(Date.now() / 1000)
      return [index.toString(16).padStart(56, '0'), ...place, now, now + 1500]
    })
    await page.route('**/console/places*', (route) => route.fulfill({ json: fleet }))
    await page.evaluate(() => {
      const longest = { ms: 0 }
      Object.assign(globalThis, { longest })
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) longest.ms = Math.max(longest.ms, duration)
      }).observe({ type: 'longtask' })
    })
    const longest = () =>
      page.evaluate(() => (globalThis as unknown as { longest: { ms: number } }).longest.ms)
    await page.getByRole('link', { name: 'Projects' }).first().click()
    await page.getByRole('link', { name: 'Devices' }).first().click()
    const shown = () =>
      page.evaluate(() => {
        const crowds = [...document.querySelectorAll('.crowd svg')].map((each) =>
          Number((each as SVGElement).dataset.count),
        )
        const pins = document.querySelectorAll('.map .pin').length
        return { marks: crowds.length + pins, devices: crowds.reduce((sum, each) => sum + each, pins) }
      })
    await expect.poll(async () => (await shown()).devices).toBe(100_000)
    const world = await shown()
    expect(world.marks).toBeLessThan(900)
    await takePictures(page, 'fleet')
    await page.locator('button.crowd').nth(5).dispatchEvent('click')
    await expect.poll(async () => (await shown()).devices).toBeLessThan(100_000)
    const closer = await shown()
    expect(closer.marks).toBeLessThan(900)
    for (let step = 0; step < 3; step++)
      await page.getByRole('button', { name: 'Zoom in', exact: true }).click()
    await expect.poll(async () => (await shown()).devices).toBeLessThan(closer.devices)
    console.info(
      `100,000 devices: ${world.marks} marks on the world; longest task of the page ${Math.round(await longest())} ms`,
    )
    await page.unroute('**/console/places*')
    await settled('/devices', 'Devices')
  })

  it('shows a device with its last place and its services', async () => {
    await page.getByRole('link', { name: 'weather-station-7', exact: true }).click()
    await page.getByRole('heading', { name: 'weather-station-7' }).waitFor()
    await page.getByText('52.5, 13.4').waitFor()
    await page.getByText('selvedge init function my-service').waitFor()
  })

  it('is usable from 320 px to 4K, light and dark: axe-core finds nothing serious, nothing jumps, no page is heavy', async () => {
    const views: readonly (readonly [string, string, string | RegExp])[] = [
      ['devices', '/devices', 'Devices'],
      ['device', `/devices/${nodeId}`, 'weather-station-7'],
      ['join-keys', '/devices/join-keys', 'Join keys'],
      ['projects', '/projects', 'Projects'],
      ['project', projectPath, 'Weather stations'],
      ['account', '/account', 'Your account'],
      ['people', '/people', 'People'],
      ['audit', '/audit', 'Audit log'],
      ['device-settings', `/devices/${nodeId}/settings`, 'weather-station-7'],
      ['device-sharing', `/devices/${nodeId}/sharing`, 'weather-station-7'],
      ['project-settings', `${projectPath}/settings`, 'Weather stations'],
      ['terminal', '/device', 'Sign in a terminal'],
      ['not-found', '/nowhere', 'This thread ends here'],
    ]
    const found: string[] = []
    const obstacles = async (name: string, width: number) => {
      // Dark has other colors, and the same tree and sizes; narrow has the colors of wide.
      const themes = [['dark', 'colors'] as const, ['light', 'all'] as const]
      for (const [colorScheme, rules] of width < 1280 ? themes.slice(1) : themes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        const all = await findObstacles(page, rules)
        found.push(...all.map((each) => `${name} at ${width} px, ${colorScheme}: ${each}`))
      }
    }
    const weights: string[] = []
    for (const [name, path, heading] of views) {
      // Loaded once for each layout, and then made as wide as windows get: all but the map is the same tree.
      for (const widths of [
        [320, 390],
        [1280, 1920, 3840],
      ]) {
        for (const width of widths) {
          const where = `at ${width} px`
          await page.setViewportSize({ width, height: width === 3840 ? 2160 : 900 })
          if (width === widths[0]) {
            await settled(path, heading)
            if (name === 'devices' || name === 'device') await page.locator('.map .pin').first().waitFor()
            const shift = await page.evaluate(layoutShift)
            if (shift > maxShift) found.push(`${name} ${where} shifts by ${shift.toFixed(3)}`)
          }
          const wide = await page.evaluate(findOverflow)
          if (wide.length > 0) found.push(`${name} ${where} is too wide: ${wide.join(', ')}`)
          // The tree of the page is the same at all widths of a layout.
          if (width === 390 || width === 1280) await obstacles(name, width)
        }
      }
      const hasMap = name === 'devices' || name === 'device'
      const weight = weightOf(await page.evaluate(loadedFiles))
      const most = hasMap ? maxWeight.withMap : maxWeight.plain
      weights.push(`${name} ${(weight / 1000).toFixed(1)}`)
      if (weight > most) found.push(`${name} loads ${weight} bytes, at most ${most}`)
      await takePictures(page, name)
    }
    console.info(`first load of each page, kB gzipped without map and font: ${weights.join(', ')}`)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(found).toEqual([])
  })

  it('shows on every page in the same words that the server does not answer, and continues when it does', async () => {
    const paths = [
      '/devices',
      `/devices/${nodeId}`,
      '/devices/join-keys',
      '/projects',
      projectPath,
      '/people',
      '/audit',
      '/account',
    ]
    const html = '<html><body>502 Bad Gateway, nginx</body></html>'
    for (const [index, path] of paths.entries()) {
      await settled('/nowhere', 'This thread ends here')
      const isHtml = index % 2 === 0
      await page.route('**/console/api', (route) =>
        isHtml ? route.fulfill({ status: 502, contentType: 'text/html', body: html }) : route.abort(),
      )
      await page.evaluate((to) => {
        history.pushState(null, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
      const banner = page.getByRole('alert')
      await banner.getByText('Can’t reach the server.').waitFor()
      expect(await banner.count()).toBe(1)
      expect(await page.locator('body').textContent()).not.toMatch(/nginx|Bad Gateway|\/console\/api/)
      await page.unroute('**/console/api')
      // It tries again by itself, too, and the button is gone then.
      await page.evaluate(() => {
        document.querySelector<HTMLButtonElement>('[role=alert] button')?.click()
      })
      await expect.poll(() => banner.count()).toBe(0)
      // What was missing meanwhile is there, without a reload.
      await expect.poll(() => page.locator('.bones').count()).toBe(0)
    }
  })

  it('keeps what is typed after Ctrl+K while the search is on its way', async () => {
    await settled('/projects', 'Projects')
    const typed = Promise.withResolvers<void>()
    await page.route('**/assets/finder-*.js', async (route) => {
      await typed.promise
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('peo')
    typed.resolve()
    const field = page.getByRole('combobox', { name: 'Search or jump to' })
    await expect.poll(() => field.inputValue()).toBe('peo')
    await page.keyboard.type('p')
    await expect.poll(() => field.inputValue()).toBe('peop')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
    await page.unroute('**/assets/finder-*.js')
  })

  it('shows whatever a name holds as text', async () => {
    const name = `<img src=x onerror="document.title='owned'"> & <b>bold</b>`
    await settled('/projects', 'Projects')
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('heading', { name, exact: true }).waitFor()
    await settled('/audit', 'Audit log')
    await page.getByText(name).first().waitFor()
    expect(await page.title()).toBe('Audit log · Selvedge')
    expect(await page.locator('main img').count()).toBe(0)
  })

  it('can be used with the keyboard alone', async () => {
    await settled('/projects', 'Projects')
    await page.keyboard.press('Shift+Tab')
    await settled('/account', 'Your account')
    const focused = () =>
      page.evaluate(
        () =>
          (globalThis as unknown as { document: { activeElement: { textContent: string } } }).document
            .activeElement.textContent,
      )
    // The title has the focus when a view opens, so it is read out.
    expect(await focused()).toBe('Your account')
    await page.evaluate(() =>
      (
        globalThis as unknown as { document: { activeElement: { blur(): void } } }
      ).document.activeElement.blur(),
    )
    await page.getByRole('link', { name: 'Skip to content' }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Devices')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    expect(await focused()).toBe('Devices')
  })

  it('asks for a fresh sign-in before a token, once the last one is old', async () => {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { timeout: 30_000 })
    database.exec('UPDATE sessions SET auth_time = auth_time - 900000')
    database.close()
    await settled(projectPath, 'Weather stations')
    await page.getByRole('button', { name: 'Create developer token' }).click()
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('heading', { name: 'Your developer token' }).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
  })

  it('revokes: the runtime refuses the tokens that were issued with it', async () => {
    await settled('/account', 'Your account')
    const rows = page.getByRole('button', { name: 'Revoke the token for Weather stations' })
    await rows.first().waitFor()
    // Both: the one in use, and the one made a moment ago.
    while ((await rows.count()) > 0) {
      const left = await rows.count()
      await rows.first().click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await expect.poll(() => rows.count()).toBe(left - 1)
    }
    const call = () =>
      runtimeOf(stack)
        .getGps({ edgeAccessToken: token })
        .then(
          () => 'accepted',
          ({ reason }) => reason,
        )
    await expect.poll(call).toBe('token_revoked')
  })

  it('asked no other host for anything, and complained of nothing', () => {
    expect([...person.hosts]).toEqual([new URL(origin()).host])
    // Of the page that does not exist.
    const notFound = 'Failed to load resource: the server responded with a status of 404 (Not Found)'
    // Tests beside this one make networks, and the browser reports that once.
    const networkChanged = 'Failed to load resource: net::ERR_NETWORK_CHANGED'
    // Of the test that lets no call through.
    const noServer = /Bad Gateway|net::ERR_FAILED/
    const expected = [notFound, networkChanged]
    expect(person.complaints.filter((each) => !expected.includes(each) && !noServer.test(each))).toEqual([])
  })
})
