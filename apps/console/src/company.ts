/** The way to the provider of a company, which sends the browser back to `/sign-in/<domain>/callback`. */
import type { ConsoleInput } from '@selvedge/protocol/console'
import { api } from './api.ts'

/** Leaves the console for the provider. */
export async function goToCompany(
  address: string,
  purpose: ConsoleInput<'company.begin'>['purpose'],
): Promise<void> {
  const { url } = await api['company.begin']({ address, purpose })
  location.assign(url)
}

/** A fresh sign-in in another tab, so that the action of this one can continue. */
export async function confirmWithCompany(domain: string): Promise<void> {
  // Before anything is awaited: a browser lets a click open a tab, and nothing else.
  const tab = open('about:blank', '_blank')
  try {
    const { url } = await api['company.begin']({ address: domain, purpose: 'confirm' })
    if (tab) tab.location.href = url
    else location.assign(url)
  } catch (cause) {
    tab?.close()
    throw cause
  }
}
