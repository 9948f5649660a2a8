import type { Viewer } from '@selvedge/protocol/console'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

export interface Home {
  readonly viewer: Viewer
  readonly identityUrl: string
  /** Looks again who is signed in. */
  readonly refresh: () => Promise<void>
}

export const HomeContext = createContext<Home | undefined>(undefined)

/** Who is signed in; only for views that are shown to nobody else. */
export function useHome(): Home {
  const home = useContext(HomeContext)
  if (!home) throw new Error('nobody is signed in')
  return home
}
