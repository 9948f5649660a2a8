/** What a large fleet costs: bytes and time of its places, memory of the services, and how long the page needs for each step. */
import type { Page } from 'playwright-core'
import { residentMb } from '../../soak/memory.ts'
import type { FleetStack } from './stack.ts'

/** Milliseconds for one step of a page with a large fleet. */
const stepMs = 120_000

const show = (what: string, value: string): void => void process.stdout.write(`${what.padEnd(44)} ${value}\n`)

export async function measureFleet(stack: FleetStack, devices: number): Promise<void> {
  const { page, origin, identity } = stack
  await stack.grow(devices)
  await page.setViewportSize({ width: 1280, height: 900 })
  const programs = () => ({ identity: identity.process.pid!, discovery: stack.discovery().process.pid! })
  const memory = () =>
    Object.entries(programs())
      .map(([name, pid]) => `${name} ${Math.round(residentMb(pid)!)} MB`)
      .join(', ')
  show('memory of the services before', memory())

  page.on('requestfinished', async (request) => {
    if (!request.url().includes('/console/places')) return
    const { responseBodySize } = await request.sizes()
    const { responseEnd } = request.timing()
    show('places: bytes, and ms to the last of them', `${responseBodySize}, ${Math.round(responseEnd)}`)
  })
  await page.addInitScript(() => {
    const longest = { ms: 0 }
    Object.assign(globalThis, { longest })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest.ms = Math.max(longest.ms, duration)
    }).observe({ type: 'longtask' })
  })

  const step: Step = async (what, act, isDone) => {
    const start = performance.now()
    await act()
    while (!(await isDone())) {
      if (performance.now() - start > stepMs) throw new Error(`${what}: not after ${stepMs / 1000} s`)
      await page.waitForTimeout(20)
    }
    const longest = await page.evaluate(() => {
      const { longest } = globalThis as unknown as { longest: { ms: number } }
      const { ms } = longest
      longest.ms = 0
      return ms
    })
    const total = Math.round(performance.now() - start)
    show(what, `${total} ms, longest task of the page ${Math.round(longest)} ms`)
  }
  await walk(page, origin, devices, step)
  const devtools = await page.context().newCDPSession(page)
  const { usedSize } = (await devtools.send('Runtime.getHeapUsage')) as { usedSize: number }
  show('JavaScript heap of the page', `${Math.round(usedSize / 1e6)} MB`)
  show('memory of the services after', memory())
}

type Step = (what: string, act: () => Promise<unknown>, isDone: () => Promise<boolean>) => Promise<void>

/** What a person does with the list and the map. */
async function walk(page: Page, origin: string, devices: number, step: Step): Promise<void> {
  const rows = () => page.locator('tbody tr').count()
  await step(
    'the page has its list',
    () => page.goto(`${origin}/devices`),
    async () => (await rows()) > 0,
  )
  await step(
    'the map has all devices',
    async () => undefined,
    async () => (await shownOn(page)) === devices,
  )
  await step(
    'a crowd comes apart',
    () => page.locator('button.crowd').nth(5).dispatchEvent('click'),
    async () => (await shownOn(page)) < devices,
  )
  await step(
    'all devices again',
    () => page.getByRole('button', { name: 'Fit all devices' }).click(),
    async () => (await shownOn(page)) === devices,
  )
  await step(
    'a search',
    () => page.getByLabel('Find a device').fill('van-00042'),
    async () => (await rows()) === 1 && (await shownOn(page)) === 1,
  )
  await step(
    'the search is removed',
    () => page.getByLabel('Find a device').fill(''),
    async () => (await rows()) > 1 && (await shownOn(page)) === devices,
  )
  await step(
    'a filter by state',
    () => page.getByRole('button', { name: /^Blocked/ }).click(),
    async () => (await page.locator('tbody .state', { hasText: 'Online' }).count()) === 0,
  )
}

/** Devices on the map: those of its crowds, and single ones. */
const shownOn = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const crowds = [...document.querySelectorAll('.crowd svg')].map((each) =>
      Number((each as SVGElement).dataset.count),
    )
    return crowds.reduce((sum, each) => sum + each, document.querySelectorAll('.map .pin').length)
  })
