import type { Viewer } from '@selvedge/protocol/console'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export interface Home {
  readonly viewer: Viewer
  readonly identityUrl: string
  readonly discoveryUrl: string
  /** Of the service. */
  readonly version: string
  /** Reloads the signed-in person. */
  readonly refresh: () => Promise<void>
}

export const HomeContext = createContext<Home | undefined>(undefined)

/** The signed-in person; only for views that need a session. */
export function useHome(): Home {
  const home = useContext(HomeContext)
  if (!home) throw new Error('no person is signed in')
  return home
}
