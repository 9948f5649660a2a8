import sprite from '../icons.svg?url'

/** The symbols of `icons.svg`, by their names in Lucide. */
export type IconName =
  | 'arrow-down'
  | 'arrow-up'
  | 'ban'
  | 'book-open'
  | 'box'
  | 'check'
  | 'chevron-down'
  | 'chevron-right'
  | 'chevrons-up-down'
  | 'clock'
  | 'copy'
  | 'cpu'
  | 'download'
  | 'ellipsis'
  | 'fingerprint'
  | 'key-round'
  | 'layers'
  | 'life-buoy'
  | 'list-filter'
  | 'lock'
  | 'log-out'
  | 'mail'
  | 'map-pin'
  | 'menu'
  | 'minus'
  | 'monitor'
  | 'moon'
  | 'plus'
  | 'radio'
  | 'refresh-cw'
  | 'scan'
  | 'scroll-text'
  | 'search'
  | 'shield-check'
  | 'sun'
  | 'tag'
  | 'terminal'
  | 'triangle-alert'
  | 'unlink'
  | 'user-plus'
  | 'users'
  | 'wifi-off'
  | 'x'

/** A picture beside a text with the same meaning. An icon without text is in a control with a name of its own. */
export function Icon({ name, class: more = '' }: { name: IconName; class?: string }) {
  return (
    <svg class={`i ${more}`} aria-hidden="true">
      <use href={`${sprite}#${name}`} />
    </svg>
  )
}
