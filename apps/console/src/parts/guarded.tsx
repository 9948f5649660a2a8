import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ButtonKind } from './action.tsx'
import { Icon, type IconName } from './icon.tsx'
import { lazyView } from './lazy-view.tsx'

const GuardDialog = lazyView(() => import('./guard-dialog.tsx'))

/** A button for what cannot be undone: a dialog names the thing and the consequences, and does it. */
export function Guarded(props: {
  /** Verb and noun, in the dialog, too. */
  children: string
  title: string
  /** What happens, in numbers where there are some. */
  consequence: ComponentChildren
  /** A person types this before the button of the dialog works. */
  typed?: string
  run: () => Promise<unknown>
  kind?: ButtonKind
  icon?: IconName
  label?: string
  disabled?: boolean
}) {
  const { children, title, consequence, typed, run, kind = 'danger', icon, label, disabled } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class={`btn ${kind}`}
        aria-label={label}
        disabled={disabled}
        onClick={() => setOpen(true)}
      >
        {icon && <Icon name={icon} />}
        {children}
      </button>
      {isOpen && (
        <GuardDialog title={title} verb={children} typed={typed} run={run} onClose={() => setOpen(false)}>
          {consequence}
        </GuardDialog>
      )}
    </>
  )
}
