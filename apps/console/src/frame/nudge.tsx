import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { Link } from '../parts/link.tsx'
import { nowMs } from '../parts/time.tsx'
import { Notice } from '../parts/view.tsx'
import { hush, isHushed } from '../state/hushed.ts'
import { usePath } from '../state/route.ts'
import { useHome } from '../state/viewer.ts'
import { nudgesOf } from './nudges.ts'

/** Pages with such a notice: the lists that people begin with. One that cannot wait is on all but the page that it leads to. */
const lists: readonly string[] = ['devices', 'people']

/**
 * The most severe notice about the person's account that the person did not put away. A notice of the page itself hides it.
 *
 * @param page first word of its address
 */
export function Nudge({ page }: { page: string }) {
  const path = usePath()
  const isList = lists.includes(page) && path.split('/').length < 3
  const { personId, ...viewer } = useHome().viewer
  const [, setCount] = useState(0)
  const nudge = nudgesOf({ personId, ...viewer }).find(
    ({ kind, name }) => kind === 'bad' || (isList && !isHushed(personId, name, nowMs())),
  )
  if (!nudge || page === 'account') return null
  const { kind, icon, title, text, action, name } = nudge
  const putAway = () => {
    hush(personId, name, nowMs())
    setCount((count) => count + 1)
  }
  return (
    <div class={`nudge ${kind}`}>
      <Notice kind={kind} icon={icon} title={title} text={text}>
        <Link to="/account" class="btn">
          {action}
        </Link>
        {kind !== 'bad' && (
          <button
            type="button"
            class="btn square quiet"
            aria-label="Not now"
            title="Not now: don’t show this for a month"
            onClick={putAway}
          >
            <Icon name="x" />
          </button>
        )}
      </Notice>
    </div>
  )
}
