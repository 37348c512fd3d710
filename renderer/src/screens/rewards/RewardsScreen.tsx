import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { buttonClass } from '../../components/Button';
import { unknown } from '../../components/format';
import { Screen } from '../../components/Screen';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Note } from '../../components/Note';
import { ListPicture } from '../../components/Pictures';
import { Table } from '../../components/Table';
import { Tag } from '../../components/Tag';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useRewards } from '../../data/library';

const LANGUAGES = { typescript: 'TypeScript', python: 'Python', judge: 'Judge' } as const;

export function RewardsScreen() {
  const rewards = useRewards();
  const make = (
    <Link to="/rewards/$id" params={{ id: 'new' }} className={buttonClass('primary')}>
      <Plus aria-hidden /> New reward
    </Link>
  );
  return (
    <Screen title="Rewards" actions={make}>
      {rewards.isError && rewards.data === undefined ? (
        <ErrorState
          what="The rewards cannot be listed."
          error={asFailure(rewards.error)}
          onRetry={rewards.refetch}
        />
      ) : rewards.data === undefined ? (
        <SkeletonRows rows={4} label="Loading rewards" />
      ) : rewards.data.length === 0 ? (
        <EmptyState picture={<ListPicture />} title="No reward yet" action={make}>
          A reward is a few lines of TypeScript that look at an answer and give it a number. What gets more
          becomes likelier.
        </EmptyState>
      ) : (
        <Table
          label="Rewards"
          rows={rewards.data}
          rowKey={(reward) => reward.id}
          columns={[
            {
              key: 'name',
              header: 'Reward',
              cell: (reward) => (
                <>
                  <Link to="/rewards/$id" params={{ id: reward.id }} style={{ fontWeight: 500 }}>
                    {reward.name}
                  </Link>{' '}
                  {reward.source === 'bundled' && <Tag>bundled</Tag>}
                  {reward.description !== undefined && <Note text={reward.description} />}
                </>
              ),
            },
            {
              key: 'language',
              header: 'Written in',
              width: 110,
              cell: (reward) => LANGUAGES[reward.language],
            },
            {
              key: 'lines',
              header: 'Lines',
              numeric: true,
              width: 70,
              cell: (reward) => reward.code.split('\n').length,
            },
            {
              key: 'hash',
              header: 'Version',
              width: 110,
              spare: true,
              cell: (reward) => <code title={reward.hash}>{reward.hash.slice(0, 8)}</code>,
            },
            {
              key: 'at',
              header: 'Changed',
              numeric: true,
              width: 120,
              cell: (reward) => (reward.source === 'user' ? <Time at={reward.updatedAt} /> : unknown),
            },
          ]}
        />
      )}
    </Screen>
  );
}
