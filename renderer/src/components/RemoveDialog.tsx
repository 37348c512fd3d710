import { Button } from './Button';
import { Dialog } from './Dialog';
import { ErrorState, type Failure } from './States';

/** Asks before something is taken away, and tells when that failed. */
export function RemoveDialog({
  open,
  title,
  description,
  action,
  busy,
  failure,
  onClose,
  onRemove,
}: {
  open: boolean;
  title: string;
  /** What goes and what stays. */
  description: string;
  /** What the button says. */
  action: string;
  busy: boolean;
  failure: Failure | null;
  onClose: () => void;
  onRemove: () => void;
}) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      description={description}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button kind="danger" busy={busy} onClick={onRemove}>
            {action}
          </Button>
        </>
      }
    >
      {failure !== null && <ErrorState compact what="It is still there." error={failure} />}
    </Dialog>
  );
}
