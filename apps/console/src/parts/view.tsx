import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A view: its title is that of the page, and is read out when the view opens. */
export function View({
  title,
  error,
  children,
}: {
  title: string
  error?: string | undefined
  children: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Selvedge`
    heading.current?.focus()
  }, [title])
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {children}
    </>
  )
}

export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** What is wider than a narrow screen, and is moved there by finger or keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

/** What to do if the list is empty. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}
