import type { Viewer } from '@selvedge/protocol/console'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { api, explain, signedOut } from './api.ts'
import { Confirm } from './parts/confirm.tsx'
import { Frame } from './parts/frame.tsx'
import { tabs } from './session/tabs.ts'
import { navigate, usePath } from './state/route.ts'
import { StepUp } from './state/step-up.tsx'
import { HomeContext } from './state/viewer.ts'
import { AccountView } from './views/account/account.tsx'
import { AuditView } from './views/audit.tsx'
import { DeviceView } from './views/device/device.tsx'
import { DeviceRequestView } from './views/device-request.tsx'
import { DevicesView } from './views/devices.tsx'
import { LinkView } from './views/link.tsx'
import { PeopleView } from './views/people.tsx'
import { ProjectView } from './views/project.tsx'
import { ProjectsView } from './views/projects.tsx'
import { SignInView } from './views/sign-in.tsx'

interface Standing {
  readonly viewer: Viewer | null
  readonly needsOwner: boolean
  readonly identityUrl: string
}

/** Views of signed-in people, by the first word of the path. The second word is the ID of a device or project. */
const views: Readonly<Record<string, (props: { id: string }) => preact.JSX.Element>> = {
  '': DevicesView,
  devices: ({ id }) => (id === '' ? <DevicesView /> : <DeviceView nodeId={id} />),
  projects: ({ id }) => (id === '' ? <ProjectsView /> : <ProjectView clientId={id} />),
  account: AccountView,
  people: PeopleView,
  audit: AuditView,
  device: DeviceRequestView,
  'sign-in': () => <p aria-busy="true" />,
}

const linkViews = ['setup', 'join', 'reset']

export function App() {
  const path = usePath()
  const [standing, setStanding] = useState<Standing>()
  const [error, setError] = useState<string>()
  const [asked, setAsked] = useState<((confirmed: boolean) => void) | undefined>()

  const refresh = useCallback(async () => {
    try {
      setStanding(await api['session.get']())
      setError(undefined)
    } catch (cause) {
      setError(explain(cause))
    }
  }, [])
  useEffect(() => {
    const leave = () => setStanding((before) => before && { ...before, viewer: null })
    addEventListener(signedOut, leave)
    void refresh()
    const unfollow = tabs.follow(() => void refresh())
    return () => {
      removeEventListener(signedOut, leave)
      unfollow()
    }
  }, [refresh])

  const [, first = '', id = ''] = path.split('/')
  const viewer = standing?.viewer
  const isLink = linkViews.includes(first)
  useEffect(() => {
    if (!standing || isLink) return
    if (!viewer && first !== 'sign-in') {
      sessionStorage.setItem('next', location.pathname + location.search)
      navigate('/sign-in', true)
    }
    if (viewer && first === 'sign-in') {
      const next = sessionStorage.getItem('next') ?? '/'
      sessionStorage.removeItem('next')
      // Same origin: only pages of the console write this value.
      navigate(/^\/(?!\/)/.test(next) ? next : '/', true)
    }
  }, [standing, viewer, isLink, first])

  const confirm = useCallback(
    () =>
      new Promise<boolean>((resolve) => {
        setAsked(() => resolve)
      }),
    [],
  )

  if (!standing)
    return (
      <main class="lone" aria-busy={!error}>
        {error ? (
          <>
            <h1>The console cannot be shown</h1>
            <p class="error">{error}</p>
            <button type="button" onClick={refresh}>
              Try again
            </button>
          </>
        ) : null}
      </main>
    )

  const Page = views[first] ?? NotFound
  const home = viewer ? { viewer, identityUrl: standing.identityUrl, refresh } : undefined
  const shown =
    isLink || !home ? (
      <main class="lone" id="main">
        {isLink ? (
          <LinkView viewer={viewer ?? undefined} onDone={refresh} />
        ) : (
          <SignInView needsOwner={standing.needsOwner} onDone={refresh} />
        )}
      </main>
    ) : (
      <Frame current={first || 'devices'}>
        <Page id={id} />
      </Frame>
    )
  return (
    <HomeContext.Provider value={home}>
      <StepUp.Provider value={confirm}>
        {shown}
        {asked && viewer && (
          <Confirm
            viewer={viewer}
            onEnd={(confirmed) => {
              setAsked(undefined)
              asked(confirmed)
              if (confirmed) void refresh()
            }}
          />
        )}
      </StepUp.Provider>
    </HomeContext.Provider>
  )
}

const NotFound = () => (
  <>
    <h1>This page does not exist</h1>
    <p>The menu above shows the pages of the console.</p>
  </>
)
