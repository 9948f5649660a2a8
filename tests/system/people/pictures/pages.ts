/** The pages that the campaign shows, with what has to be on each for its picture. */
import type { Page } from 'playwright-core'
import { nodeIdOf } from './fleet.ts'

export interface ShownPage {
  readonly name: string
  readonly path: string
  readonly heading: string | RegExp
  /** Whether another number of devices changes it. */
  readonly hasDevices?: true
  /** Whether it needs at least one device. */
  readonly needsDevice?: true
  /** What is opened on the page. */
  readonly open?: (page: Page) => Promise<void>
}

const device = `/devices/${nodeIdOf(0)}`

/** @param projectPath path of a project of the account */
export const shownPages = (projectPath: string): readonly ShownPage[] => [
  { name: 'devices', path: '/devices', heading: 'Devices', hasDevices: true },
  { name: 'device', path: device, heading: /./, needsDevice: true },
  { name: 'device-sharing', path: `${device}/sharing`, heading: /./, needsDevice: true },
  { name: 'device-settings', path: `${device}/settings`, heading: /./, needsDevice: true },
  { name: 'join-keys', path: '/devices/join-keys', heading: 'Join keys' },
  { name: 'projects', path: '/projects', heading: 'Projects' },
  { name: 'project', path: projectPath, heading: 'Weather stations' },
  { name: 'project-settings', path: `${projectPath}/settings`, heading: 'Weather stations' },
  { name: 'people', path: '/people', heading: 'People' },
  { name: 'audit', path: '/audit', heading: 'Audit log' },
  { name: 'account', path: '/account', heading: 'Your account' },
  { name: 'terminal', path: '/device', heading: 'Sign in a terminal' },
  { name: 'not-found', path: '/nowhere', heading: 'This thread ends here' },
  {
    name: 'finder',
    path: '/projects',
    heading: 'Projects',
    open: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search or jump to' }).waitFor()
    },
  },
  {
    name: 'filter',
    path: '/devices',
    heading: 'Devices',
    needsDevice: true,
    open: async (page) => {
      await page.getByRole('button', { name: 'Filter', exact: true }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'selection',
    path: '/devices?state=away',
    heading: 'Devices',
    needsDevice: true,
    open: (page) => page.getByRole('checkbox', { name: 'Select all devices of this page' }).check(),
  },
  {
    name: 'confirm',
    path: `${device}/settings`,
    heading: /./,
    needsDevice: true,
    open: async (page) => {
      await page.getByRole('button', { name: /^Block/ }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
]

/** Waits until the map of the page, if it has one, shows the countries. */
export const mapDrawn = (page: Page): Promise<void> =>
  page.locator('.map:empty, .map [aria-busy]').first().waitFor({ state: 'detached', timeout: 120_000 })
