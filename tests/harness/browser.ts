import { type Browser, chromium } from 'playwright-core'
import { findProgram } from './installed.ts'

/** A Chromium that connects only to the hosts of the test. */
export const launchBrowser = (...more: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.SELVEDGE_CHROMIUM ?? findProgram('chromium')!,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
