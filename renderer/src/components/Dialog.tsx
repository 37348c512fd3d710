import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { useRef, type ReactNode } from 'react';
import { IconButton } from './Button';
import { classes } from './classes';
import styles from './Dialog.module.css';

export function Dialog({
  open,
  onClose,
  title,
  description,
  footer,
  wide = false,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  footer?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
}) {
  const body = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Popup
          className={classes(styles.popup, wide && styles.wide)}
          initialFocus={() => body.current?.querySelector('input') ?? true}
        >
          <header className={styles.header}>
            <div>
              <Base.Title className={styles.title}>{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className={styles.description}>{description}</Base.Description>
              )}
            </div>
            <IconButton label="Close" icon={<X />} onClick={onClose} />
          </header>
          {children !== undefined && (
            <div ref={body} className={styles.body}>
              {children}
            </div>
          )}
          {footer !== undefined && <footer className={styles.footer}>{footer}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
