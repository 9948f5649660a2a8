import type { Viewer } from '@selvedge/protocol/console'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { api, signedOut } from './api.ts'
import { explain } from './failures.ts'
import { Frame } from './frame/frame.tsx'
import { lazyView } from './parts/lazy-view.tsx'
import { OutageBanner } from './parts/outage-banner.tsx'
import { Problem } from './parts/view.tsx'
import { CompanyView, NotFoundView, openViews, routes, SignInView, TerminalView } from './routes.tsx'
import { tabs } from './session/tabs.ts'
import { signInFirst, takeNext } from './state/next.ts'
import { navigate, usePath } from './state/route.ts'
import { StepUp } from './state/step-up.tsx'
import { type Home, HomeContext } from './state/viewer.ts'

const Confirm = lazyView(() => import('./parts/confirm.tsx'))

interface Standing {
  readonly viewer: Viewer | null
  readonly needsOwner: boolean
  readonly identityUrl: string
  readonly discoveryUrl: string
  readonly version: string
}

/** Before it is known. */
const unknown: Standing = { viewer: null, needsOwner: false, identityUrl: '', discoveryUrl: '', version: '' }

/**
 * Who is signed in, followed over all tabs of the browser.
 *
 * @param isLater the view calls `refresh` when it has to know
 */
function useStanding(isLater: boolean) {
  const [standing, setStanding] = useState<Standing>()
  const [error, setError] = useState<string>()
  const refresh = useCallback(async () => {
    try {
      setStanding(await api['session.get']())
      setError(undefined)
    } catch (cause) {
      setError(await explain(cause))
    }
  }, [])
  useEffect(() => {
    const leave = () => setStanding((before) => before && { ...before, viewer: null })
    addEventListener(signedOut, leave)
    if (!isLater) void refresh()
    const unfollow = tabs.follow(() => void refresh())
    return () => {
      removeEventListener(signedOut, leave)
      unfollow()
    }
  }, [refresh, isLater])
  return { standing: standing ?? (isLater && !error ? unknown : undefined), error, refresh }
}

/** Sends people without a session to the sign-in, and afterwards to where they wanted to go. */
function useSignIn(standing: Standing | undefined, first: string): void {
  useEffect(() => {
    if (!standing || first === 'callback' || Object.hasOwn(openViews, first)) return
    if (!standing.viewer && first !== 'sign-in') signInFirst()
    if (standing.viewer && first === 'sign-in') navigate(takeNext(), true)
  }, [standing, first])
}

export function App() {
  const [asked, setAsked] = useState<((confirmed: boolean) => void) | undefined>()
  const [, first = '', id = '', part = ''] = usePath().split('/')
  // Most people who come from an app are sent back at once, and nothing of them is shown.
  const { standing, error, refresh } = useStanding(first === 'authorize')
  // The way back from the provider of a company is of everyone: also of a person who confirms a sign-in.
  const isCallback = first === 'sign-in' && part === 'callback'
  useSignIn(standing, isCallback ? 'callback' : first)
  const confirm = useCallback(
    () =>
      new Promise<boolean>((resolve) => {
        setAsked(() => resolve)
      }),
    [],
  )
  if (!standing)
    return (
      <main class="page" aria-busy={!error}>
        {error && (
          <Problem icon="wifi-off" title="Can’t reach the server" text={error}>
            <button type="button" class="btn" onClick={refresh}>
              Try again
            </button>
          </Problem>
        )}
      </main>
    )
  const { viewer, identityUrl, discoveryUrl, version } = standing
  const home = viewer ? { viewer, identityUrl, discoveryUrl, version, refresh } : undefined
  return (
    <HomeContext.Provider value={home}>
      <StepUp.Provider value={confirm}>
        <OutageBanner />
        <Shown home={home} needsOwner={standing.needsOwner} address={{ first, id, part }} onDone={refresh} />
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

function Shown(props: {
  home: Home | undefined
  needsOwner: boolean
  address: { first: string; id: string; part: string }
  onDone: () => Promise<void>
}) {
  const {
    home,
    needsOwner,
    address: { first, id, part },
    onDone,
  } = props
  const OpenView = Object.hasOwn(openViews, first) && openViews[first]
  if (OpenView) return <OpenView viewer={home?.viewer} onDone={onDone} />
  if (first === 'sign-in' && (part === 'callback' || (id !== '' && !home)))
    return (
      <CompanyView domain={id === 'company' ? '' : id} isCallback={part === 'callback'} onDone={onDone} />
    )
  if (!home || first === 'sign-in')
    return home ? <main aria-busy /> : <SignInView needsOwner={needsOwner} onDone={onDone} />
  if (first === 'device') return <TerminalView />
  const Page = Object.hasOwn(routes, first) ? routes[first]! : NotFoundView
  return (
    <Frame current={first || 'devices'}>
      <Page id={id} part={part} />
    </Frame>
  )
}
