//! SMs: their slots, and which of them takes the next block.

/// One SM.
#[derive(Clone, Debug, Default)]
pub struct Sm {
    /// Blocks that are placed and do not get to their first instruction.
    pub newcomers: Vec<(u32, u32)>,
    /// Blocks that have begun and do not get to the trigger at their entry, and their first
    /// warp's scheduler.
    pub entering: Vec<(u32, u32, u32)>,
    /// Places of resident blocks, a bit each: a block's warps follow those of the place before.
    places: u64,
}

impl Sm {
    /// Takes the first free place.
    pub fn place(&mut self) -> u32 {
        let place = (!self.places).trailing_zeros();
        self.places |= 1 << place;
        place
    }

    /// Gives the place of a block back.
    pub fn leave(&mut self, place: u32, who: (u32, u32)) {
        self.places &= !(1 << place);
        self.entering.retain(|&(node, block, _)| (node, block) != who);
    }

    /// Takes the next block that gets to the trigger at its entry on `scheduler`: any where
    /// `served` is none, or the one that is served.
    pub fn enters(&mut self, scheduler: u32, served: Option<(u32, u32)>) -> Option<(u32, u32)> {
        let at = self.entering.iter().position(|&(node, block, of)| {
            of == scheduler && served.is_none_or(|served| served == (node, block))
        })?;
        let (node, block, _) = self.entering.remove(at);
        Some((node, block))
    }
}

/// SMs by the number of warps that they hold, so that the emptiest is found at once.
#[derive(Debug)]
pub struct Slots {
    /// Warps that an SM holds at most.
    most: u32,
    /// Warps of a block.
    block: u32,
    /// For each number of resident warps the SMs that hold as many, a bit each.
    levels: Vec<Vec<u64>>,
    /// Warps on each SM, as the dispatcher knows it.
    held: Vec<u32>,
}

impl Slots {
    /// Empty SMs that hold `most` warps each, for blocks of `block` warps, which fit.
    pub fn new(sms: u32, most: u32, block: u32) -> Slots {
        let words = sms.div_ceil(64) as usize;
        let mut levels = vec![vec![0; words]; most as usize + 1];
        (0..sms as usize).for_each(|sm| levels[0][sm / 64] |= 1 << (sm % 64));
        Slots { most, block, levels, held: vec![0; sms as usize] }
    }

    /// Takes the slots of a block on the SM that holds fewest warps, the first of equals; `None`
    /// where no SM has as many.
    pub fn take(&mut self) -> Option<u32> {
        let levels = &self.levels[..=(self.most - self.block) as usize];
        let sm = levels.iter().find_map(|level| {
            let word = level.iter().position(|&word| word != 0)?;
            Some(word as u32 * 64 + level[word].trailing_zeros())
        })?;
        self.shift(sm, self.block as i32);
        Some(sm)
    }

    /// Takes the slots of each block of a cluster on an SM of a range, on the emptiest first; takes
    /// none where they do not all fit.
    pub fn take_cluster(&mut self, sms: std::ops::Range<u32>, blocks: u32) -> Option<Vec<u32>> {
        let room = |sm: u32| (self.most - self.held[sm as usize]) / self.block;
        let free: u32 = sms.clone().map(room).sum();
        if free < blocks {
            return None;
        }
        let emptiest = |slots: &Slots| sms.clone().min_by_key(|&sm| slots.held[sm as usize]);
        let taken = (0..blocks).filter_map(|_| {
            let sm = emptiest(self)?;
            self.shift(sm, self.block as i32);
            Some(sm)
        });
        Some(taken.collect())
    }

    /// Gives the slots of `warps` warps back.
    pub fn give(&mut self, sm: u32, warps: u32) {
        self.shift(sm, -(warps as i32));
    }

    /// Warps that `blocks` more blocks would find beside them on the SMs of a range.
    pub fn beside(&self, sms: std::ops::Range<u32>, blocks: u32) -> u32 {
        let mut held = self.held[sms.start as usize..sms.end as usize].to_vec();
        let mut beside = 0;
        for _ in 0..blocks {
            let Some(least) = held.iter_mut().min() else { break };
            beside += *least;
            *least += self.block;
        }
        beside
    }

    fn shift(&mut self, sm: u32, by: i32) {
        let held = &mut self.held[sm as usize];
        let bit = 1 << (sm % 64);
        self.levels[*held as usize][sm as usize / 64] &= !bit;
        *held = held.saturating_add_signed(by);
        self.levels[*held as usize][sm as usize / 64] |= bit;
    }
}
