import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from './action.tsx'
import { lazyView } from './lazy-view.tsx'

const ChooseProject = lazyView(() => import('./choose-project.tsx'))
const MadeToken = lazyView(() => import('./made-token.tsx'))

export interface Made {
  readonly idToken: string
  readonly expiresAt: string
  readonly clientId: string
}

interface TokenMakerProps {
  /** Active ones; with several, a person chooses. */
  readonly projects: readonly ConsoleProject[]
  readonly onMade?: () => void
}

/** A button that creates a developer ID token and shows it once. */
export function TokenMaker({ projects, onMade }: TokenMakerProps) {
  const [made, setMade] = useState<Made>()
  const [isChoosing, setChoosing] = useState(false)
  const create = async (clientId: string) => {
    setMade({ ...(await api['token.create']({ clientId })), clientId })
    setChoosing(false)
  }
  const [only] = projects
  return (
    <>
      <Action
        kind="primary"
        icon="key-round"
        run={async () => {
          if (projects.length === 1 && only) await create(only.clientId)
          else setChoosing(true)
        }}
      >
        Create developer token
      </Action>
      {isChoosing && (
        <ChooseProject projects={projects} onChosen={create} onClose={() => setChoosing(false)} />
      )}
      {made && (
        <MadeToken
          made={made}
          onClose={() => {
            setMade(undefined)
            onMade?.()
          }}
        />
      )}
    </>
  )
}
