/** A person at a browser with a passkey: Chromium with its virtual authenticator. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'

export interface PersonAtBrowser {
  readonly page: Page
  readonly context: BrowserContext
  /** Hosts that the pages asked for anything. */
  readonly hosts: ReadonlySet<string>
  /** What the pages complained of. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

/** @param options with `map`, the page draws the map, which needs a second of a processor for each page without a graphics card */
export async function openBrowser(
  options: { width?: number; height?: number; dark?: boolean; map?: boolean; flags?: readonly string[] } = {},
): Promise<PersonAtBrowser> {
  const { map = false, flags = [] } = options
  const browser: Browser = await launchBrowser(...(map ? [] : ['--disable-3d-apis']), ...flags)
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    // Frames of an animation are most of the work of a browser without a graphics card.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const hosts = new Set<string>()
  const complaints: string[] = []
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  page.on('pageerror', (cause) => complaints.push(cause.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { page, context, hosts, complaints, close: () => browser.close() }
}

/** The first owner, by the link of the start, with a passkey. */
export async function becomeOwner(page: Page, link: string, email = 'ada@example.com'): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Your email').fill(email)
  await takePictures(page, 'setup')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Create passkey' }).click()
  await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
}

/** Where pictures for the documentation go, if they are wanted. */
const pictures = process.env.SELVEDGE_SCREENSHOTS

/** Pictures of the page as it is: wide and narrow, light and dark. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (!pictures) return
  mkdirSync(pictures, { recursive: true })
  for (const [size, width, height] of [
    ['wide', 1280, 900],
    ['narrow', 320, 720],
  ] as const) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height })
      await page.screenshot({ path: join(pictures, `${name}-${size}-${colorScheme}.png`) })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 900 })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What a person with assistive technology would stumble over, by axe-core: serious and critical findings.
 *
 * @param rules all, or those about colors, where the same page was or will be held to all in other colors
 */
export async function findObstacles(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const chosen = rules === 'all' ? {} : { runOnly: ['color-contrast', 'link-in-text-block'] }
  return page.evaluate(async (chosen) => {
    type Result = { violations: { impact: string; id: string; nodes: { html: string }[] }[] }
    type Axe = { run(options: object): Promise<Result> }
    // What passes is not described.
    const options = { resultTypes: ['violations'], ...chosen }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(options)
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
  }, chosen)
}

/** Elements that stick out of the page to the right, and text of commands that a button covers; runs in the page. */
export function findOverflow(): string[] {
  type Rect = { left: number; right: number; top: number; bottom: number }
  type Box = {
    getBoundingClientRect(): Rect
    tagName: string
    className: unknown
    textContent: string
    closest(of: string): Box | null
    querySelectorAll(of: string): Iterable<Box>
  }
  type Text = { selectNodeContents(of: Box): void; getClientRects(): Iterable<Rect> }
  const page = globalThis as unknown as {
    innerWidth: number
    document: {
      documentElement: { scrollWidth: number }
      querySelectorAll(of: string): Iterable<Box>
      createRange(): Text
    }
  }
  const all = (selector: string) => [...page.document.querySelectorAll(selector)]
  const overlap = (one: Rect, other: Rect) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 0.5 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 0.5
  const covered = all('pre').filter((pre) => {
    const seen = pre.getBoundingClientRect()
    const text = page.document.createRange()
    text.selectNodeContents(pre)
    const buttons = [...(pre.closest('.code')?.querySelectorAll('button') ?? [])]
    return [...text.getClientRects()].some((line) =>
      buttons.some((each) => overlap(within(line, seen), each.getBoundingClientRect())),
    )
  })
  /** What is scrolled out of the box is not seen. */
  function within(line: Rect, { left, right }: Rect): Rect {
    const { top, bottom } = line
    return { top, bottom, left: Math.max(line.left, left), right: Math.min(line.right, right) }
  }
  const sticksOut = page.document.documentElement.scrollWidth > page.innerWidth
  return [
    ...covered.map(({ textContent }) => `a button covers "${textContent}"`),
    ...all(sticksOut ? 'body *' : 'no-element')
      .filter(
        (each) => each.getBoundingClientRect().right > page.innerWidth && !each.closest('.scroll, pre, svg'),
      )
      .map(({ tagName, className }) => `${tagName}.${String(className)}`),
  ]
}

/** How much the parts of a page have moved since it began to load, by themselves (Layout Instability API); runs in the page. */
export function layoutShift(): Promise<number> {
  type Shift = { value: number; hadRecentInput: boolean }
  type Observer = { observe(options: object): void; takeRecords(): Shift[] }
  const { PerformanceObserver } = globalThis as unknown as {
    PerformanceObserver: new (onEntries: (list: { getEntries(): Shift[] }) => void) => Observer
  }
  return new Promise((resolve) => {
    const sum = (all: Shift[]) =>
      all.filter((each) => !each.hadRecentInput).reduce((total, { value }) => total + value, 0)
    let total = 0
    const observer = new PerformanceObserver((list) => {
      total += sum(list.getEntries())
    })
    observer.observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(total + sum(observer.takeRecords())), 50)
  })
}

/** Paths of the files of the own origin that the page has loaded; runs in the page. */
export function loadedFiles(): string[] {
  const page = globalThis as unknown as {
    performance: { getEntriesByType(type: string): { name: string }[] }
    location: { origin: string }
  }
  return page.performance
    .getEntriesByType('resource')
    .map(({ name }) => name)
    .filter((name) => name.startsWith(`${page.location.origin}/assets/`))
    .map((name) => name.slice(page.location.origin.length))
}
