import type { LogoutRequest, Viewer } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, View } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

/** An app wants a person signed out: the person confirms it. */
export function Logout(props: { viewer: Viewer | undefined; onDone: () => Promise<void> }) {
  const { viewer, onDone } = props
  const [query] = useState(() => location.search.slice(1))
  const [finished, setFinished] = useState<LogoutRequest>()
  const { data, error } = useCall(() => api['logout.look']({ query }), [query])

  if (finished) return <Finished request={finished} />
  const obstacle = error ?? data?.obstacle
  if (obstacle)
    return (
      <View title="You were not signed out" error={`The app’s request is wrong: ${obstacle}`}>
        <Link to="/" class="btn">
          Open the console
        </Link>
      </View>
    )
  if (!data) return <Bones />
  const finish = (everywhere: boolean) => async () => {
    const done = await api['logout.finish']({ query, everywhere })
    setFinished(done)
    if (done.obstacle === null && done.returnTo !== null) location.replace(done.returnTo)
    else await onDone()
  }
  const { appName } = data
  return (
    <View
      title={appName === '' ? 'Sign out?' : `Sign out of ${appName}?`}
      about={viewer && `You are ${viewer.email}.`}
    >
      <Action kind="primary" icon="log-out" run={finish(true)}>
        Sign out
      </Action>
      {appName !== '' && viewer && <Action run={finish(false)}>{`Sign out of ${appName} only`}</Action>}
      <Link to="/" class="btn quiet">
        Stay signed in
      </Link>
    </View>
  )
}

const Finished = ({ request: { returnTo, appName } }: { request: LogoutRequest }) => (
  <View title="Signed out">
    {returnTo === null ? (
      <Link to="/sign-in" class="btn">
        Sign in
      </Link>
    ) : (
      <a class="btn" href={returnTo}>
        {appName === '' ? 'Continue' : `Back to ${appName}`}
      </a>
    )}
  </View>
)
