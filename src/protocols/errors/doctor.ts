import type { ErrorEntry } from './index.ts';

/** What `tapeworks doctor` looks at; several are also errors of a start. */
export const DOCTOR_ERRORS = {
  TW_NODE_TOO_OLD: {
    means: 'The program runs on a Node that is older than it needs.',
    remedy: 'Install Node 20.19 or newer and try again.',
  },
  TW_FEW_CORES: {
    means: 'There are fewer cores than the pinned threads and the rest of the program want.',
    remedy: 'Give the process more cores, lower klines.workers, or take `idle: spin` off the pinned threads.',
  },
  TW_LOW_MEMORY: {
    means: 'The process may use less memory than the configured threads can fill.',
    remedy: 'Raise the memory limit of the machine or container, or lower `memory` of the threads in topology.yaml.',
  },
  TW_HUGE_PAGES: {
    means: 'Transparent huge pages are always on, which makes Redis slow to copy memory when it rewrites its file.',
    remedy: 'As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (and in the boot parameters).',
  },
  TW_CPU_GOVERNOR: {
    means: 'The clock speed of the cores follows their load, so that the first message after a pause is slow.',
    remedy: 'As root: cpupower frequency-set -g performance.',
  },
  TW_CORE_NOT_ISOLATED: {
    means: 'A thread spins on a core on which the kernel also schedules others.',
    remedy: 'Add isolcpus=, nohz_full= and rcu_nocbs= with that core to the boot parameters; see docs/operations.md.',
  },
  TW_PINNING: {
    means: 'A thread cannot be bound to the core that the topology gives it; it runs unpinned.',
    remedy: 'Name a core that the process may use (cpuset, taskset -c), and install with the optional native package.',
  },
  TW_FILE_LIMIT: {
    means: 'The process may open fewer files and sockets than the configured limits allow clients to use.',
    remedy: 'Raise it with `ulimit -n 65536`, LimitNOFILE= in systemd or ulimits.nofile in compose.',
  },
  TW_SERVER_TOO_OLD: {
    means: 'Redis or Postgres is older than what is tested.',
    remedy: 'Use Redis 7.0 or newer, and Postgres 14 or newer.',
  },
  TW_REDIS_NOT_DURABLE: {
    means: 'Redis loses acknowledged events when it restarts or the power fails.',
    remedy: 'In redis.conf: appendonly yes, appendfsync everysec (or always).',
  },
  TW_REDIS_EVICTS: {
    means: 'Redis throws entries away when its memory is full.',
    remedy: 'In redis.conf: maxmemory-policy noeviction.',
  },
  TW_REDIS_SETTINGS_HIDDEN: {
    means: 'Redis does not let its settings be read, so that they cannot be checked.',
    remedy: 'Allow CONFIG GET to this user, or make sure yourself of appendonly yes and maxmemory-policy noeviction.',
  },
  TW_REDIS_READ_ONLY: {
    means: 'The Redis that is named is a replica, or cannot write its file; nothing can be appended.',
    remedy: 'Name the primary in REDIS_URL; where it is the disk, free or mend it.',
  },
  TW_POSTGRES_NOT_DURABLE: {
    means: 'Postgres may lose or break committed rows when the power fails, although they were acknowledged.',
    remedy: 'ALTER SYSTEM SET fsync = on; SET full_page_writes = on; then restart Postgres.',
  },
  TW_POSTGRES_ASYNC_COMMIT: {
    means: 'Postgres says that rows are committed before they are on the disk; a crash loses the last ones.',
    remedy: 'ALTER SYSTEM SET synchronous_commit = on (or per role), then SELECT pg_reload_conf().',
  },
  TW_POSTGRES_RIGHTS: {
    means: 'The role may not create tables, which the first start and each new day need.',
    remedy: 'GRANT CREATE, USAGE ON SCHEMA public TO the role that DATABASE_URL names.',
  },
  TW_POSTGRES_READ_ONLY: {
    means: 'Postgres is a standby, or read-only by default; nothing can be stored.',
    remedy: 'Name the primary in DATABASE_URL, or set default_transaction_read_only = off.',
  },
  TW_POSTGRES_CONNECTIONS: {
    means: 'Postgres has fewer connections left than the program opens.',
    remedy: 'Raise max_connections, end idle clients, or lower sink.connections in config/kernel.yaml.',
  },
  TW_CLOCK_UNSYNCED: {
    means: 'No time service keeps the clock of this machine right; bars would close early or late.',
    remedy: 'Install and start chrony or systemd-timesyncd, and check with `chronyc tracking` or `timedatectl`.',
  },
  TW_CLOCK_OFFSET: {
    means: 'The clocks of this machine and of a server differ.',
    remedy: 'Let a time service keep both right: chrony or systemd-timesyncd on each.',
  },
  TW_DISK_LOW: {
    means: 'The disk has less free space than the spill may need, and leaves to others.',
    remedy: 'Free space, move `data` or spill.folder to a larger disk, or lower spill.maxBytes in config/kernel.yaml.',
  },
  TW_DISK_FULL: {
    means: 'The disk, or the quota on it, is full.',
    remedy: 'Free space, or move `data` in config/kernel.yaml to another disk. Nothing acknowledged is lost.',
  },
  TW_DISK_SLOW: {
    means: 'The disk takes long to make a write durable; batches wait for it.',
    remedy: 'Move `data` and spill.folder to a local SSD.',
  },
  TW_DISK_VOLATILE: {
    means: 'The folder lies in memory or on a network share, where a synced write does not survive or is not sure.',
    remedy: 'Move `data` in config/kernel.yaml to a local disk.',
  },
  TW_DISK_SHARED: {
    means: 'The spill lies on the same disk as the Postgres whose outages it is for.',
    remedy: 'Set spill.folder in config/kernel.yaml to a folder on another disk.',
  },
  TW_FOLDER_READ_ONLY: {
    means: 'A folder that the program must write to cannot be written to.',
    remedy: 'Make it writable for this user, or set `data` in config/kernel.yaml to a folder that is.',
  },
  TW_FOLDER_FOREIGN: {
    means: 'The data folder belongs to another user.',
    remedy: 'Start as that user, give the folder to this one (chown -R), or set another `data` in config/kernel.yaml.',
  },
  TW_STALE_LOCK: {
    means: 'A lock or pid file was left behind by a process that has died.',
    remedy: 'Nothing has to be done: the next start takes it over.',
  },
  TW_ORPHAN_SERVER: {
    means: 'An embedded server still runs although the program that started it has died.',
    remedy: 'Start tapeworks: it ends the orphan first. Or end the process named here with SIGINT.',
  },
} as const satisfies Record<string, ErrorEntry>;
